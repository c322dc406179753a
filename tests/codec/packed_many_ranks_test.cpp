// packed where the ranks' counts of mini-blocks, added up, would not fit 32 bits.

#include "codecs/packed/packed.hpp"
#include "codecs/packed/packed_histogram.hpp"
#include "lone_rank.hpp"
#include "packed_vectors.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::uint64_t max_count = std::numeric_limits<std::uint32_t>::max();

TEST(PackedCounts, UnitsAreAsSmallAsSumsAllow) {
  EXPECT_EQ(packed_count_shift(1, 1), 0u);
  EXPECT_EQ(packed_count_shift(524287, 8192), 0u) << "what was allowed before";
  EXPECT_EQ(packed_count_shift(524288, 8192), 1u);
  EXPECT_EQ(packed_count_shift(65537, 65535), 0u);
  EXPECT_EQ(packed_count_shift(65538, 65535), 1u);
  for (const std::uint32_t ranks : {1u, 2u, 255u, 8192u, 32768u, 65535u})
    for (std::uint64_t minis = 1; minis < std::uint64_t{1} << 32; minis = 2 * minis + 1) {
      const unsigned shift = packed_count_shift(minis, ranks);
      const auto sum = [&](unsigned s) {  // of a counter that counts all of them on all ranks
        return ranks * ((minis + (std::uint64_t{1} << s) - 1) >> s);
      };
      EXPECT_LE(sum(shift), max_count) << ranks << ' ' << minis;
      if (shift > 0) EXPECT_GT(sum(shift - 1), max_count) << ranks << ' ' << minis;
    }
}

TEST(PackedCounts, WhatIsThereStays) {
  PackedHistogram histogram;
  histogram.counts[5] = 1;
  histogram.counts[6] = 8;
  histogram.counts[7] = 9;
  histogram.counts[8] = std::uint32_t(max_count);
  const PackedHistogram units = histogram.in_units(3);
  EXPECT_EQ(units.counts[4], 0u);
  EXPECT_EQ(units.counts[5], 1u);
  EXPECT_EQ(units.counts[6], 1u);
  EXPECT_EQ(units.counts[7], 2u);
  EXPECT_EQ(units.counts[8], 1u << 29);
  EXPECT_EQ(histogram.in_units(0).counts, histogram.counts);
}

/// Bits an element of a rank's payload.
double payload_bits(int ranks, std::size_t elements, ElementType type,
                    const Parameters& parameters) {
  LoneRank rank({.make = make_packed,
                 .ranks = ranks,
                 .type = type,
                 .parameters = parameters,
                 .elements = elements});
  // Elements of one distribution, whatever their number; scales differ by mini-block.
  const Bytes some = to_bytes(type, vectors_of(Shape::lognormal_scales, 1, 1 << 16)[0]);
  Bytes input(elements * size_of(type));
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = some[i % some.size()];
  rank.agree(input, 1);
  std::size_t words = 0;
  for (const auto& payload : rank.payload(Form::wide)) words += payload.size();
  return 64.0 * static_cast<double>(words) / static_cast<double>(elements);
}

/// A vector of one more mini-block, for which units have two of them, gets the same step.
TEST(PackedManyRanks, BudgetsHoldOnBothSidesOfTheBound) {
  struct Case {
    int ranks;
    std::size_t most;  ///< elements whose mini-blocks are counted one by one
  };
  for (const auto& [ranks, most] : {Case{65535, 65537 * 32 - 1}, Case{8192, 524287 * 32 - 1}})
    for (const char* bits : {"5", "8"}) {
      const double below = payload_bits(ranks, most, ElementType::bf16, {{"bits", bits}});
      const double above = payload_bits(ranks, most + 1, ElementType::bf16, {{"bits", bits}});
      EXPECT_GT(below, 0.5);
      EXPECT_NEAR(above, below, 0.05) << ranks << " ranks, bits=" << bits;
    }
}

/// Neither counts on all ranks.
TEST(PackedManyRanks, OtherTargetsTakeLongVectors) {
  constexpr std::size_t count = 65537 * 32 + 5;
  for (const Parameters& parameters :
       {Parameters{{"budget", "max"}}, Parameters{{"abs_error", "1"}},
        Parameters{{"rel_error", "0.01"}}})
    EXPECT_GT(payload_bits(65535, count, ElementType::bf16, parameters), 0.1);
}

/// Before any rank has sent anything, and on all of them, for it depends on the length alone.
TEST(PackedManyRanks, WhatNoRankCanCountIsRefused) {
  constexpr std::size_t most = 32 * max_count;
  const auto reserve = [](std::size_t elements, std::size_t piece, const Parameters& parameters) {
    const auto codec =
        make_packed({.ranks = 4, .kernels = kernels::kernel_table(), .parameters = parameters});
    codec->reserve(elements, piece);
  };
  const auto error_of = [&](std::size_t elements, std::size_t piece, const Parameters& parameters) {
    try {
      reserve(elements, piece, parameters);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NO_THROW(reserve(most, 1024, {}));
  EXPECT_NE(error_of(most + 1, 1024, {}).find("137438953440: reduce it in parts"),
            std::string::npos);
  EXPECT_NE(error_of(most + 1, 1024, {{"budget", "max"}}).find("too long"), std::string::npos);
  EXPECT_NO_THROW(reserve(most + 1, 1024, {{"abs_error", "1"}}));

  constexpr std::size_t longest = max_count / 965 * 1024;  // u32 of a group at its widest
  EXPECT_EQ(error_of(2 * longest, longest + 1024, {}).find("packed: a payload of"), 0u);
}

}  // namespace
}  // namespace cohom::test
