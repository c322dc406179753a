#pragma once
// SoakCall: one random call of the soak, drawn alike on all ranks, and the call that must give its
// bits.

#include "elements.hpp"

#include <cohom/options.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {

struct SoakCall {
  enum class Values { normal, nasty, small_integers };

  std::string codec;
  std::string algorithm;
  ElementType type = ElementType::f32;
  std::size_t count = 0;
  ReduceOp op = ReduceOp::sum;
  std::size_t segment = 0;
  Values values = Values::normal;
  bool in_place = false;
  int plan = -1;          ///< its slot; negative: a plain call
  bool new_plan = false;  ///< made in the slot before the call
  std::uint64_t seed = 0;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] Options options(const std::string& aggregator) const;
  /// Without an aggregator: by ring, where no algorithm changes a bit; else as the call itself.
  [[nodiscard]] Options reference_options(int ranks) const;
  [[nodiscard]] Bytes input(int rank) const;
};

class SoakCalls {
 public:
  explicit SoakCalls(std::uint64_t seed) : random_(seed) {}

  /// Calls that are in flight together.
  std::vector<SoakCall> next_batch();

 private:
  static constexpr std::size_t plans = 8;

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t times) { return below(times) == 0; }
  SoakCall draw(bool may_keep_state);
  std::size_t draw_count();
  SoakCall draw_of_plan(int slot);

  std::mt19937_64 random_;
  std::vector<SoakCall> plans_ = std::vector<SoakCall>(plans);  ///< no codec: not made yet
};

}  // namespace cohom::test
