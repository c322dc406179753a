#include "codecs/thc/thc_table.hpp"
#include "codecs/common/dither.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <numbers>
#include <numeric>

namespace cohom {
namespace {

using Levels = std::vector<std::uint16_t>;

Levels levels_for(unsigned bits, std::uint32_t granularity, double tail) {
  return optimal_levels(bits, granularity, normal_tail_threshold(tail));
}

TEST(ThcTable, ThresholdIsFoundWhateverTheRounding) {
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(rounding);
    const double threshold = normal_tail_threshold(1.0 / 32);
    std::fesetround(FE_TONEAREST);
    EXPECT_NEAR(threshold, 2.1538746940614555, 1e-9);
  }
}

TEST(ThcTable, ThresholdIsTheNormalQuantile) {
  EXPECT_NEAR(normal_tail_threshold(1.0 / 32), 2.1538746940614555, 1e-13);
  EXPECT_NEAR(normal_tail_threshold(0.5), 0.6744897501960817, 1e-13);
  EXPECT_NEAR(normal_tail_threshold(1e-6), 4.891638475698713, 1e-9);
  for (double tail : {0.9, 0.3, 1.0 / 16, 1.0 / 256, 1.0 / 1024, 1e-5})
    EXPECT_NEAR(std::erfc(normal_tail_threshold(tail) / std::numbers::sqrt2), tail, 1e-14);
}

TEST(ThcTable, MatchesTheKnownTables) {
  EXPECT_EQ(levels_for(4, 30, 1.0 / 32),
            (Levels{0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30}));
  EXPECT_EQ(levels_for(4, 30, 1.0 / 16),
            (Levels{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}));
  EXPECT_EQ(levels_for(3, 16, 1.0 / 32), (Levels{0, 3, 5, 7, 9, 11, 13, 16}));
  EXPECT_EQ(levels_for(4, 34, 1.0 / 1024),
            (Levels{0, 5, 8, 10, 12, 14, 15, 16, 18, 19, 20, 22, 24, 26, 29, 34}));
}

TEST(ThcTable, TheSmallestGranularityIsUniform) {
  for (unsigned bits = 1; bits <= 8; ++bits) {
    const std::uint32_t last = (1u << bits) - 1;
    Levels uniform(last + 1);
    std::iota(uniform.begin(), uniform.end(), std::uint16_t{0});
    EXPECT_EQ(levels_for(bits, last, 1.0 / 32), uniform);
  }
}

TEST(ThcTable, IsIncreasingAndSymmetric) {
  for (unsigned bits : {1u, 2u, 3u, 5u, 8u})
    for (std::uint32_t granularity : {255u, 256u, 510u}) {
      const Levels levels = levels_for(bits, granularity, 1.0 / 32);
      ASSERT_EQ(levels.size(), std::size_t{1} << bits);
      EXPECT_EQ(levels.front(), 0);
      EXPECT_EQ(levels.back(), granularity);
      for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
        EXPECT_LT(levels[k], levels[k + 1]);
        EXPECT_EQ(levels[k] + levels[levels.size() - 1 - k], granularity);
      }
    }
}

/// Variance of unbiased rounding, integrated numerically: nothing shared with the programme.
double variance_of(const Levels& levels, double threshold) {
  const double granularity = levels.back();
  double variance = 0;
  for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
    const double a = threshold * (2 * levels[k] / granularity - 1);
    const double b = threshold * (2 * levels[k + 1] / granularity - 1);
    constexpr int steps = 64;
    for (int s = 0; s < steps; ++s) {
      const double u = a + (b - a) * (s + 0.5) / steps;
      variance += (u - a) * (b - u) * std::exp(-u * u / 2) * (b - a) / steps;
    }
  }
  return variance / std::sqrt(2 * std::numbers::pi);
}

/// All symmetric tables: every choice of the levels below the centre.
void for_each_table(unsigned bits, std::uint16_t granularity, Levels& lower, auto&& visit) {
  if (lower.size() == std::size_t{1} << (bits - 1)) {
    Levels levels = lower;
    for (std::size_t k = lower.size(); k-- > 0;)
      levels.push_back(static_cast<std::uint16_t>(granularity - lower[k]));
    visit(levels);
    return;
  }
  for (std::uint16_t next = lower.back() + 1; 2 * next < granularity; ++next) {
    lower.push_back(next);
    for_each_table(bits, granularity, lower, visit);
    lower.pop_back();
  }
}

TEST(ThcTable, NoOtherTableIsBetter) {
  for (auto [bits, granularity] : {std::pair{2u, 17u}, {3u, 16u}, {3u, 25u}, {4u, 26u}})
    for (double tail : {1.0 / 8, 1.0 / 32, 1.0 / 1024}) {
      const double threshold = normal_tail_threshold(tail);
      const double best = variance_of(optimal_levels(bits, granularity, threshold), threshold);
      Levels lower{0};
      for_each_table(bits, static_cast<std::uint16_t>(granularity), lower,
                     [&](const Levels& levels) {
                       EXPECT_GE(variance_of(levels, threshold), best * (1 - 1e-3));
                     });
    }
}

TEST(ThcTable, VarianceIsTheDocumentedOne) {
  const double threshold = normal_tail_threshold(1.0 / 32);
  EXPECT_NEAR(variance_of(levels_for(4, 30, 1.0 / 32), threshold), 0.01307, 0.00002);
  EXPECT_NEAR(variance_of(levels_for(4, 15, 1.0 / 32), threshold), 0.01332, 0.00002);
}

/// Of equal intervals, which are those of the smallest table, and of what is clamped.
TEST(ThcTable, ErrorsOfEqualIntervalsAreTheDocumentedOnes) {
  for (const double tail : {1.0 / 32, 1.0 / 1024})
    for (const unsigned bits : {1u, 3u, 4u, 6u}) {
      const double threshold = normal_tail_threshold(tail);
      const std::uint32_t intervals = (1u << bits) - 1;
      EXPECT_NEAR(equal_levels_variance(intervals, threshold) /
                      variance_of(levels_for(bits, intervals, tail), threshold),
                  1, 0.002)
          << bits;
      EXPECT_LE(variance_of(levels_for(bits, 2 * intervals, tail), threshold),
                equal_levels_variance(intervals, threshold) * 1.001);
    }
  EXPECT_NEAR(clamped_energy(normal_tail_threshold(1.0 / 32)), 0.0073, 0.00005);
  EXPECT_NEAR(clamped_energy(normal_tail_threshold(1.0 / 256)), 0.00062, 0.00001);
  EXPECT_NEAR(clamped_energy(normal_tail_threshold(1.0 / 1024)), 0.00013, 0.00001);
}

TEST(ThcTable, CellsNameTheirInterval) {
  const Levels levels = levels_for(4, 30, 1.0 / 32);
  const auto cells = cells_of_levels(levels);
  ASSERT_EQ(cells.size(), 31u);
  for (std::uint32_t x = 0; x < 30; ++x) {
    EXPECT_EQ(cells[x].level, levels[cells[x].index]);
    EXPECT_EQ(cells[x].level + cells[x].gap, levels[cells[x].index + 1u]);
    EXPECT_LE(cells[x].level, x);
    EXPECT_LT(x, cells[x].level + cells[x].gap);
  }
  EXPECT_EQ(cells[30].index, 14);
}

TEST(ThcTable, OffsetsOfAllRanksArePermutations) {
  EXPECT_EQ(correlated_offsets(0, 1), std::vector<std::uint8_t>{0});
  EXPECT_EQ(correlated_offsets(1, 2), std::vector<std::uint8_t>{128});
  EXPECT_EQ(correlated_offsets(3, 8), (std::vector<std::uint8_t>{96, 32, 224, 160}));
  for (std::uint32_t ranks : {2u, 3u, 7u, 8u, 12u, 33u}) {
    const std::size_t units = correlated_offsets(0, ranks).size();
    for (std::size_t unit = 0; unit < units; ++unit) {
      std::vector<std::uint8_t> offsets, evenly;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        offsets.push_back(correlated_offsets(rank, ranks)[unit]);
        evenly.push_back(static_cast<std::uint8_t>(256 * rank / ranks));
      }
      std::sort(offsets.begin(), offsets.end());
      EXPECT_EQ(offsets, evenly);
    }
  }
}

}  // namespace
}  // namespace cohom
