// packed: the budget is met, contributions, sums and agreement together.

#include "packed_vectors.hpp"
#include "thoroughness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// Bits a value that direct sends: the mean of the contributions' and the sum's, and the agreement,
/// which takes a hop for every doubling of the ranks.
double bits_of(const CodecHarness& harness, int ranks, std::size_t count) {
  const int payload = harness.codec(0).payload_round();
  double words = double(harness.sum(payload).size());
  for (int rank = 0; rank < ranks; ++rank)
    words += double(harness.contribution(payload, rank).size()) / ranks;
  double agreed = 25;  // on the call itself
  for (int round = 0; round < payload; ++round) agreed += double(harness.sum(round).size());
  const double hops = std::bit_width(unsigned(ranks) - 1);
  return 32 * (words + agreed * hops * ranks / (ranks - 1)) / double(count);
}

/// How ranks' vectors hang together.
enum class Alike { not_at_all, identical, loud_in_turn };

Vectors related_vectors(Shape shape, Alike alike, int ranks, std::size_t count) {
  Vectors vectors = vectors_of(shape, ranks, count);
  for (std::size_t rank = 0; rank < vectors.size(); ++rank) {
    if (alike == Alike::identical) vectors[rank] = vectors[0];
    if (alike == Alike::loud_in_turn)
      for (std::size_t i = 0; i < count; ++i)
        if (i / 256 % vectors.size() != rank) vectors[rank][i] *= 0.02;
  }
  return vectors;
}

/// Sums of identical vectors are wider by log2(ranks), of uncorrelated ones by half of that, and
/// where one rank is loud they are as wide as its contribution: a sample tells.
TEST(PackedBudget, IsMetOnAverage) {
  constexpr std::size_t count = 1 << 18;
  CaseShare share(3, 5);
  for (int ranks : {2, 4, 9})
    for (Alike alike : {Alike::not_at_all, Alike::identical, Alike::loud_in_turn})
      for (Shape shape : {Shape::normal, Shape::lognormal_scales, Shape::heavy_tails})
        for (const char* text : {"4", "5", "8"}) {
          if (share.skips_this()) continue;
          const char* dither = std::string(text) == "5" ? "nearest" : "correlated";
          CodecHarness harness = harness_of(ranks, {{"bits", text}, {"dither", dither}});
          harness.allreduce(related_vectors(shape, alike, ranks, count));
          // Identical vectors, of which many mini-blocks are about one step, are the hardest.
          const double tolerance = alike == Alike::identical ? 0.3 : 0.2;
          EXPECT_NEAR(bits_of(harness, ranks, count), std::stod(text), tolerance)
              << ranks << " ranks, " << dither << " shape " << int(shape) << " alike "
              << int(alike);
        }
}

/// Too short to sample: as if uncorrelated.
TEST(PackedBudget, OfShortVectorsIsThatOfUncorrelatedOnes) {
  constexpr std::size_t count = 4096;
  CodecHarness harness = harness_of(4, {{"bits", "6"}});
  harness.allreduce(vectors_of(Shape::normal, 4, count));
  EXPECT_NEAR(mean_of(bits_of_ranks(harness, 4, count)), 0.85 * 6 - 0.5, 0.2);
}

/// Outliers take no part: the other half of the mini-blocks meets the budget.
TEST(PackedBudget, IsMetBesideOutliers) {
  constexpr std::size_t count = 1 << 18;
  Vectors vectors = vectors_of(Shape::normal, 4, count);
  for (std::size_t i = 40; i < count; i += 64)
    vectors[1][i] = i % 128 < 64 ? std::numeric_limits<double>::quiet_NaN()
                                 : std::numeric_limits<double>::infinity();
  CodecHarness harness = harness_of(4, {{"bits", "5"}});
  harness.allreduce(vectors);
  // Rank 1 sends half of its mini-blocks, the others all, and half of the sums are left.
  const double sent = (3 * 1 + 0.5) / 4 / 2 + 0.5 / 2;
  EXPECT_NEAR(bits_of(harness, 4, count), 5 * sent, 0.2);
}

/// Zeros cost nothing: all precision there is takes less than the budget.
TEST(PackedBudget, IsNotSpentOnZeros) {
  constexpr std::size_t count = 1 << 16;
  CodecHarness harness = harness_of(4, {{"bits", "12"}});
  harness.allreduce(vectors_of(Shape::mostly_zero, 4, count));
  EXPECT_NEAR(mean_of(bits_of_ranks(harness, 4, count)), 6.8, 0.15);
}

TEST(PackedBudget, IsMetForEveryType) {
  constexpr std::size_t count = 1 << 16;
  for (ElementType type : all_element_types) {
    CodecHarness harness = harness_of(2, {}, type);
    harness.allreduce(vectors_of(Shape::lognormal_scales, 2, count));
    EXPECT_NEAR(bits_of(harness, 2, count), 5, 0.15) << name_of(type);
  }
}

TEST(PackedBudget, OfTheBusiestRankHoldsForEach) {
  constexpr std::size_t count = 1 << 16;
  CodecHarness harness = harness_of(4, {{"budget", "max"}, {"bits", "6"}});
  harness.allreduce(vectors_of(Shape::normal, 4, count));
  const auto bits = bits_of_ranks(harness, 4, count);
  EXPECT_NEAR(std::ranges::max(bits), 6, 0.1);
  EXPECT_LT(std::ranges::min(bits), 5.3) << "the ranks' scales differ by two";
}

}  // namespace
}  // namespace cohom::test
