// The benchmark's yardstick for wire bytes, against the table of ratios in the design and against
// bytes counted by hand.

#include "wire_formula.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace cohom::bench {
namespace {

constexpr std::size_t large = 1 << 22;  // elements; whole blocks for every rank

std::uint64_t busiest(const std::string& codec, const std::string& algorithm, std::size_t elements,
                      int ranks, ElementType type = ElementType::f32) {
  const auto bytes = wire_formula(codec, algorithm, elements, type, ranks);
  return bytes ? bytes->busiest_rank : 0;
}

/// Bytes a rank sends for each byte of f32 it reduces.
double ratio(const std::string& codec, const std::string& algorithm, int ranks) {
  return static_cast<double>(busiest(codec, algorithm, large, ranks)) / (4.0 * large);
}

TEST(WireFormula, RawRingSendsEveryChunkTwice) {
  EXPECT_DOUBLE_EQ(ratio("raw", "ring", 8), 1.75);
  EXPECT_DOUBLE_EQ(ratio("raw", "direct", 8), 1.75);
  EXPECT_DOUBLE_EQ(ratio("raw", "ring", 2), 1);
  EXPECT_DOUBLE_EQ(ratio("raw", "ring", 1), 0);
}

TEST(WireFormula, ThcSendsPayloadAndAgreement) {
  // One code of 32 bits for 256 elements, once for each of log2(n) rounds.
  const auto agreement = [](int ranks) {
    return std::countr_zero(static_cast<unsigned>(ranks)) * 4.0 / (256 * 4);
  };
  // A(4 + 8)/32 and 2A 8/32, A = 7/8.
  EXPECT_DOUBLE_EQ(ratio("thc", "direct", 8), 0.328125 + agreement(8));
  EXPECT_DOUBLE_EQ(ratio("thc", "ring", 8), 0.4375 + agreement(8));
  // 16 * 30 needs 9 bits: lanes of 12, 5 a word, and 52 words for a block of 256.
  EXPECT_DOUBLE_EQ(ratio("thc", "ring", 16), 2 * 15 / 16.0 * 52 * 8 / 1024 + agreement(16));
  // floor(255/4) = 63 levels travel in 6 bits: 10 a word, 26 words a block.
  EXPECT_DOUBLE_EQ(ratio("thc:levels=full", "direct", 4),
                   3 / 4.0 * (26 * 8 + 256) / 1024 + agreement(4));
  // From 256 ranks on sums have lanes of 16 bits.
  EXPECT_DOUBLE_EQ(ratio("thc:levels=full", "ring", 256), 2 * 255 / 256.0 / 2 + agreement(256));
  EXPECT_DOUBLE_EQ(ratio("thc:scale=global", "ring", 8), 0.4375 + 3 * 8 / (4.0 * large));
  EXPECT_DOUBLE_EQ(ratio("thc:bits=2,granularity=3,lane=5", "ring", 8),
                   2 * 7 / 8.0 * 22 * 8 / 1024 + agreement(8));
}

/// Of a matrix as high as wide, or as it is for so many elements.
TEST(WireFormula, LowrankSendsTwoFactors) {
  constexpr std::size_t elements = std::size_t{1} << 22, side = 2048, factor = side * 4 * 4;
  EXPECT_EQ(busiest("lowrank", "direct", elements, 8), 2 * factor * 7 / 8 + 3 * (8 + factor));
  EXPECT_EQ(busiest("lowrank:columns=1024", "ring", elements, 8),
            4 * factor * 7 / 8 + 3 * (8 + factor / 2));
  // One row of 16, of which one direction is needed: 8 bytes for it, and one for the scale's word.
  EXPECT_EQ(busiest("lowrank:rank=32,columns=65536", "direct", 3, 2), 8u + 8 + 16 * 4);
}

TEST(WireFormula, IsEmptyWhereLanesHoldNoSumOfSoManyRanks) {
  EXPECT_TRUE(wire_formula("thc:levels=full", "ring", large, ElementType::f32, 255));
  EXPECT_TRUE(wire_formula("thc:levels=full", "ring", large, ElementType::f32, 256));
  EXPECT_FALSE(wire_formula("thc:levels=full,lane=8", "ring", large, ElementType::f32, 256));
  EXPECT_TRUE(wire_formula("thc:lane=8", "ring", large, ElementType::f32, 8));
  EXPECT_FALSE(wire_formula("thc:lane=8", "ring", large, ElementType::f32, 9));
  EXPECT_TRUE(wire_formula("thc", "ring", large, ElementType::f32, 1024));
}

TEST(WireFormula, OfABudgetIsTheBudget) {
  EXPECT_NEAR(ratio("packed", "direct", 8), 2 * 7 / 8.0 * 5 / 32, 1e-6);
  EXPECT_NEAR(ratio("packed:dither=nearest,bits=6.5", "direct", 4), 2 * 3 / 4.0 * 6.5 / 32, 1e-6);
}

TEST(WireFormula, SignsTakeOneBitUp) {
  // Two codes of 32 bits for 1024 elements, three rounds each.
  const double scales = 3 * 2 * 4.0 / 4096;
  EXPECT_DOUBLE_EQ(ratio("signcount", "direct", 8), 7 / 8.0 * (1 + 4) / 32 + scales);
  EXPECT_DOUBLE_EQ(ratio("signcount", "ring", 8), 2 * 7 / 8.0 * 4 / 32 + scales);
  EXPECT_DOUBLE_EQ(ratio("signcount:vote=majority", "direct", 8), 7 / 8.0 * 2 / 32 + scales);
  EXPECT_DOUBLE_EQ(ratio("signcount:vote=majority", "ring", 8), 7 / 8.0 * (4 + 1) / 32 + scales);
  // Two bits a block of 1024, two numbers of the vector.
  const double blocks = 3 * (2 / 8.0 / 4096 + 16 / (4.0 * large));
  EXPECT_DOUBLE_EQ(ratio("marsit:period=none", "ring", 8), 2 * 7 / 8.0 / 32 + blocks);
  EXPECT_DOUBLE_EQ(ratio("marsit", "direct", 8), 7 / 8.0 / 32 + blocks);
}

TEST(WireFormula, FullPrecisionIsEveryPeriodthCallAndDirect) {
  const auto busiest_of = [](const char* codec, std::uint64_t step) {
    return wire_formula(codec, "tree", large, ElementType::f32, 8, std::nullopt, step)
        ->busiest_rank;
  };
  const auto full = busiest("raw", "direct", large, 8);
  EXPECT_EQ(busiest_of("marsit", 9), full);
  EXPECT_EQ(busiest_of("marsit:period=4", 7), full);
  EXPECT_LT(busiest_of("marsit:period=4", 9), full / 8);
  EXPECT_LT(busiest_of("marsit:period=none", 9), full / 8);
}

TEST(WireFormula, WholeVectorsByTreeAndDoubling) {
  const auto vector = 4.0 * large;
  const auto total = [&](const char* algorithm, int ranks) {
    return static_cast<double>(
               wire_formula("raw", algorithm, large, ElementType::f32, ranks)->all_ranks) /
           vector;
  };
  for (const int ranks : {1, 2, 3, 4, 7, 8})
    EXPECT_EQ(total("tree", ranks), 2 * (ranks - 1)) << ranks;
  EXPECT_EQ(ratio("raw", "tree", 8), 3);  // the root's three children
  EXPECT_EQ(ratio("raw", "tree", 7), 3);  // and rank 4's parent and two children
  EXPECT_EQ(total("recursive_doubling", 8), 24);
  EXPECT_EQ(ratio("raw", "recursive_doubling", 8), 3);
  // Four members in two rounds, three pairs with a message each way.
  EXPECT_EQ(total("recursive_doubling", 7), 4 * 2 + 3 * 2);
  EXPECT_EQ(ratio("raw", "recursive_doubling", 7), 3);
}

TEST(WireFormula, CountsRaggedBlocksAndWords) {
  // 257 elements on 2 ranks: a chunk of 256 and one of 1, which is padded to 16 lanes of 8 bits.
  EXPECT_EQ(busiest("thc", "ring", 257, 2), 256u + 16 + 8);
  // Rank 0 sends its contribution to chunk 1 (16 lanes of 4 bits) and the sum of chunk 0.
  EXPECT_EQ(busiest("thc", "direct", 257, 2), 8u + 256 + 8);
  EXPECT_EQ(busiest("raw", "tree", 3, 2, ElementType::bf16), 8u);
}

/// 2A(1/32 + rho), the index flat; with two levels those blocks' bits that need them.
TEST(WireFormula, SparseSendsIndexAndValues) {
  const auto ratio_of = [](const char* spec, const UnionShape& shape, int ranks) {
    const auto bytes = wire_formula(spec, "ring", large, ElementType::f32, ranks, shape);
    return static_cast<double>(bytes->busiest_rank) / (4.0 * large);
  };
  const UnionShape spread{.elements = large, .values = large / 20, .mixed = large};
  EXPECT_NEAR(ratio_of("sketch:index=flat,cells=f32", spread, 8),
              2 * 7 / 8.0 * (1 / 32.0 + 1.3 * 0.05) + 3 / 8.0 / 256 / 4, 1e-5);
  EXPECT_NEAR(ratio_of("sketch:index=flat,gamma=1.5", spread, 8),
              2 * 7 / 8.0 * (1 / 32.0 + 2 * 1.5 * 0.05) + 3 / 8.0 / 256 / 4, 1e-5);
  EXPECT_NEAR(ratio_of("sparse:index=flat", spread, 8), 2 * 7 / 8.0 * (1 / 32.0 + 0.05), 1e-6);
  const double upper = 3 * 2.0 / (512 * 32);
  EXPECT_NEAR(ratio_of("sparse", spread, 8), 2 * 7 / 8.0 * (1 / 32.0 + 0.05) + upper, 1e-6);
  const UnionShape clustered{
      .elements = large, .values = large / 20, .zeros_of_full = large / 100, .mixed = large / 8};
  EXPECT_NEAR(ratio_of("sparse", clustered, 8), 2 * 7 / 8.0 * (1 / 256.0 + 0.06) + upper, 1e-6);
}

/// Bits of a filter for the values of all ranks, the others' ghosts, cells or lanes for what is
/// left.
TEST(WireFormula, FiltersFixedSketchesAndComposition) {
  const auto ratio_of = [](const char* spec, const UnionShape& shape) {
    const auto bytes = wire_formula(spec, "ring", large, ElementType::f32, 8, shape);
    return static_cast<double>(bytes->busiest_rank) / (4.0 * large);
  };
  constexpr double a = 2 * 7 / 8.0;
  const UnionShape few{.elements = large, .values = large / 1024, .contributed = large / 1024};
  const double filter = 10 / 0.693147 / 1024 / 32;
  EXPECT_NEAR(ratio_of("sparse:index=bloom", few), a * (filter + 2 / 1024.0), 1e-5);
  EXPECT_NEAR(ratio_of("sparse:index=bloom,false_positives=1/2", few),
              a * (filter / 10 + 1 / 1024.0 + 0.5 * 1023 / 1024), 1e-4);
  const UnionShape many{.elements = large, .values = large / 20, .contributed = large / 4};
  EXPECT_EQ(ratio_of("sparse:index=bloom", many), ratio_of("sparse:index=flat", many));
  const double outliers = 3 / 8.0 / 256 / 4;
  EXPECT_NEAR(ratio_of("sketch:index=flat,cells=f32,size=0.1", many),
              a * (1 / 32.0 + 0.1) + outliers, 1e-5);
  EXPECT_NEAR(ratio_of("sketch:index=flat,size=1/10", few), a * (1 / 32.0 + 0.2) + outliers, 1e-5);
  // 819 values a unit: four blocks, the last one of 51 values in 64 lanes; 8 bits a lane, one norm
  // a block.
  const double values = (3 * 256 + 64) / 16384.0;
  EXPECT_NEAR(ratio_of("sparse+thc:index=flat", many),
              a * (1 / 32.0 + values / 4) + 3 * 4 / 16384.0, 1e-5);
}

TEST(WireFormula, KnowsWhatItDoesNotKnow) {
  EXPECT_FALSE(wire_formula("sparse", "ring", large, ElementType::f32, 4));
  EXPECT_FALSE(wire_formula("thc", "fabric", large, ElementType::f32, 4));
  EXPECT_FALSE(wire_formula("packed", "ring", large, ElementType::f32, 4));
  EXPECT_FALSE(wire_formula("packed:abs_error=1e-4", "direct", large, ElementType::f32, 4));
  EXPECT_FALSE(wire_formula("packed:budget=max", "direct", large, ElementType::f32, 4));
  EXPECT_FALSE(wire_formula("raw", "hierarchical", large, ElementType::f32, 4));
}

}  // namespace
}  // namespace cohom::bench
