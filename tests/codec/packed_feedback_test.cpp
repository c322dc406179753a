// packed with error feedback: nothing is lost between calls, and what is left over stays bounded.

#include "packed_vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t count = 3000;  // two groups and a ragged one

double energy(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum;
}

std::vector<double> feedback_of(CodecHarness& harness, int rank, ElementType type) {
  return to_values(type == ElementType::f64 ? type : ElementType::f32, harness.state(rank));
}

/// Exact sums so far = results so far + what the ranks still owe.
TEST(PackedFeedback, NothingIsLost) {
  for (const ElementType type : all_element_types)
    for (const char* bits : {"2", "4", "8"})
      for (const char* dither : {"nearest", "correlated"}) {
        if (*bits == '2' && *dither == 'c') continue;  // refused
        CodecHarness harness = harness_of(
            ranks,
            {{"error_feedback", "on"}, {"bits", bits}, {"dither", dither}, {"down_shift", "0"}},
            type);
        std::vector<double> balance(count);
        double results = 0;
        for (std::uint64_t step = 0; step < 12; ++step) {
          Vectors inputs;
          for (std::uint64_t rank = 0; rank < ranks; ++rank)
            inputs.push_back(
                to_values(type, to_bytes(type, normal_values(count, 9 * step + rank))));
          const auto result = harness.allreduce(inputs, step);
          results += energy(result);
          for (std::size_t i = 0; i < count; ++i) {
            for (const auto& input : inputs) balance[i] += input[i];
            balance[i] -= result[i];
          }
        }
        double kept = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const auto left = feedback_of(harness, rank, type);
          ASSERT_EQ(left.size(), count);
          kept += energy(left);
          for (std::size_t i = 0; i < count; ++i) balance[i] -= left[i];
        }
        EXPECT_GT(kept, 1e-6 * results) << name_of(type) << " bits " << bits;
        // What is left is the rounding of results to their type.
        const double rounding = type == ElementType::bf16  ? 0x1p-9
                                : type == ElementType::f16 ? 0x1p-12
                                                           : 0x1p-22;
        EXPECT_LT(energy(balance), 4 * rounding * rounding * results)
            << name_of(type) << " bits " << bits << " dither " << dither;
      }
}

/// With the fewest bits there are, and the fewest that dithering may have.
TEST(PackedFeedback, DoesNotGrow) {
  for (const char* dither : {"nearest", "independent"})
    for (const char* budget : {"mean", "max"})
      for (const Shape shape : {Shape::normal, Shape::lognormal_scales, Shape::heavy_tails}) {
        const char* const bits = *dither == 'n' ? "2" : "4";
        CodecHarness harness = harness_of(
            ranks,
            {{"error_feedback", "on"}, {"bits", bits}, {"dither", dither}, {"budget", budget}});
        const Vectors inputs = vectors_of(shape, ranks, count);
        std::vector<double> early(ranks);
        for (std::uint64_t step = 0; step < 200; ++step) {
          harness.allreduce(inputs, step);
          for (int rank = 0; rank < ranks && (step == 49 || step == 199); ++rank) {
            double& was = early[std::size_t(rank)];
            const double left = energy(feedback_of(harness, rank, ElementType::f32));
            if (step == 49) was = left;
            EXPECT_LE(left, 2 * was) << dither << ", budget " << budget << ", shape " << int(shape);
          }
        }
      }
}

}  // namespace
}  // namespace cohom::test
