#pragma once
// StepWords: what a step says, and the words and counts that it points to.

#include "codecs/common/round.hpp"

#include <cohom/merge.hpp>
#include <cohom/rounds.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class StepWords {
 public:
  explicit StepWords(const RoundsOptions& options) : has_unsigned_(options.has_unsigned) {}

  /// A step that reduces `words` in place.
  const RoundStep* reduce(std::string_view name, Merge merge, Payload words);
  /// They are reduced: they are numbers without a sign again.
  void end_reduction();

  /// Part counts of the next exchange, to be set first.
  [[nodiscard]] std::vector<std::size_t>& send_counts() { return send_counts_; }
  [[nodiscard]] std::vector<std::size_t>& receive_counts() { return receive_counts_; }
  const RoundStep* exchange(std::string_view name, Collective kind, ConstPayload send);
  [[nodiscard]] ConstPayload received() const { return received_; }
  [[nodiscard]] std::vector<ConstPayload> received_parts() const;

 private:
  bool has_unsigned_;
  RoundStep step_;
  std::vector<std::uint64_t> received_;
  std::vector<std::size_t> send_counts_, receive_counts_;
};

}  // namespace cohom
