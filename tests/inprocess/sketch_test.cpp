// sketch of a fixed size: cells leave before the index is agreed on, and may be summed before it,
// too.

#include "loopback_ranks.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "sparse_vectors.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// Whole numbers, whose sums are exact in cells of either type.
std::vector<float> whole_numbers(std::size_t count, double density, std::uint64_t seed) {
  std::vector<float> values;
  for (const double value : sparse_values(count, density, seed))
    values.push_back(static_cast<float>(std::round(8 * value)));
  return values;
}

TEST(SketchOfFixedSize, CellsTravelBesideTheIndex) {
  constexpr std::size_t count = 40003;
  for (const int ranks : {2, 3, 5}) {
    std::vector<std::vector<float>> inputs;
    std::vector<float> exact(count);
    for (int rank = 0; rank < ranks; ++rank) {
      inputs.push_back(whole_numbers(count, 0.01, std::uint64_t(rank)));
      for (std::size_t i = 0; i < count; ++i) exact[i] += inputs.back()[i];
    }
    const LoopbackOptions options{.preferred_message_bytes = 256};
    on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
      for (const AlgorithmRow& algorithm : algorithm_table())
        for (const char* index : {"two-level", "flat", "bloom"})
          for (const char* cells : {"i64", "f32"}) {
            SCOPED_TRACE(std::string(algorithm.name) + ", " + index + ", " + cells);
            const std::string codec =
                std::string("sketch:size=0.15,index=") + index + ",cells=" + cells;
            AllreducePlan plan(
                communicator, count, ElementType::f32,
                {.codec = codec, .algorithm = std::string(algorithm.name), .segment = 4096});
            std::vector<float> in_place;
            for (int call = 0; call < 3; ++call) {
              in_place = inputs[std::size_t(rank)];
              plan.execute(in_place.data(), in_place.data());
              ASSERT_EQ(in_place, exact) << "call " << call << ", rank " << rank;
            }
          }
    });
  }
}

}  // namespace
}  // namespace cohom::test
