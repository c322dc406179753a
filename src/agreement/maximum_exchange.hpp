#pragma once
// MaximumExchange: the maximum, word by word, of what all ranks have, by dissemination:
// ceil(log2 n) messages to each rank.
//
// Ranks decide by these words what they do next, so each message carries a checksum: words that
// were changed on their way are an error, not another decision.

#include "agreement/call_channel.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom {

class MaximumExchange {
 public:
  /// {error, not offloading, hash, ~hash, checksum}; equal words have equal checksums.
  using Table = std::array<std::uint64_t, 5>;

  explicit MaximumExchange(CallChannel& channel) : channel_(channel) {}

  /// Begins the exchange with what this rank has; done() at once where it is alone.
  void begin(const Table& own);
  /// Takes what came with a completion and goes on with the next hop once nothing is under way.
  /// @throws Error(transport) for words that were changed on their way
  void complete(bool sent, std::size_t bytes);

  [[nodiscard]] bool done() const { return distance_ >= channel_.ranks(); }
  [[nodiscard]] const Table& maximum() const { return maximum_; }
  /// Whose words come next.
  [[nodiscard]] int peer() const;

 private:
  void next_hop();
  void merge_arrived();

  CallChannel& channel_;
  Table maximum_{}, leaving_{};
  std::array<std::uint64_t, 32> arriving_{};  ///< more than a table, to see one of another version
  int distance_ = 1;
  std::uint32_t hop_ = 0;
};

}  // namespace cohom
