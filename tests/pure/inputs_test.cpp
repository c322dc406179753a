// The benchmark's input vectors: the same for everyone, and distributed as they should be.

#include "support/input_case.hpp"

#include "npy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

using input_case::make;
using input_case::seed;

const std::vector<std::string> synthetic = {
    "gauss",       "lognormal",         "mixture",          "smooth", "field",
    "sparse:0.05", "sparse:0.9:blocks", "sparse:0.05:same", "wide:40"};

double mean_of(const std::vector<double>& values, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double value : values) sum += f(value);
  return sum / static_cast<double>(values.size());
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double ab = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  const double aa = std::inner_product(a.begin(), a.end(), a.begin(), 0.0);
  const double bb = std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
  return ab / std::sqrt(aa * bb);
}

TEST(Inputs, AnyWindowHasTheSameElements) {
  for (const auto& spec : synthetic) {
    const auto whole = make(spec, 2000);
    const auto input = make_input(spec, seed, 0);
    input->set_length(2000);
    for (std::size_t first = 0; first < 2000;) {
      std::vector<double> window(std::min<std::size_t>(first % 7 + 1, 2000 - first));
      input->generate(first, window);
      for (std::size_t i = 0; i < window.size(); ++i)
        ASSERT_EQ(window[i], whole[first + i]) << spec << " element " << first + i;
      first += window.size();
    }
  }
}

TEST(Inputs, DifferByRankAndSeed) {
  for (const auto& spec : synthetic) {
    const auto here = make(spec, 1000);
    EXPECT_NE(here, make(spec, 1000, 1)) << spec;
    EXPECT_NE(here, make(spec, 1000, 0, seed + 1)) << spec;
    EXPECT_EQ(here, make(spec, 1000)) << spec;
  }
}

TEST(Inputs, StayWhatTheyAre) {
  // Pinned: a change here changes what every published number was measured on.
  const auto gauss = make("gauss", 4, 3);
  const std::vector<double> expected = {1.0231382565412974, 2.019183914365875, -0.53346619005368678,
                                        0.33259636344495486};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(gauss[i], expected[i], 1e-12);

  const auto field = make("field", 27'000, 3);
  const std::vector<double> points = {0.17746545759817592, 0.47827859277044593, 0.78866532369873932,
                                      1.1311455469612997};
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_NEAR(field[12'344 + i], points[i], 1e-12);
}

TEST(Inputs, GaussIsNormalAndIndependent) {
  constexpr std::size_t count = 1 << 18;
  const auto values = make("gauss", count);
  const double sigma = 1 / std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(mean_of(values, [](double x) { return x; }), 0, 4 * sigma);
  EXPECT_NEAR(mean_of(values, [](double x) { return x * x; }), 1, 4 * std::sqrt(2.0) * sigma);
  EXPECT_NEAR(mean_of(values, [](double x) { return x * x * x * x; }), 3,
              4 * std::sqrt(96.0) * sigma);
  EXPECT_NEAR(mean_of(values, [](double x) { return x > 1.6448536 ? 1.0 : 0.0; }), 0.05,
              4 * std::sqrt(0.05 * 0.95) * sigma);
  EXPECT_NEAR(correlation(values, make("gauss", count, 1)), 0, 4 * sigma);
  const std::vector<double> shifted(values.begin() + 1, values.end());
  EXPECT_NEAR(correlation({values.begin(), values.end() - 1}, shifted), 0, 4 * sigma);
}

TEST(Inputs, LognormalHasRandomSigns) {
  const auto values = make("lognormal", 1 << 16);
  EXPECT_NEAR(mean_of(values, [](double x) { return x > 0 ? 1.0 : 0.0; }), 0.5, 0.01);
  EXPECT_NEAR(mean_of(values, [](double x) { return std::log(std::abs(x)); }), 0, 0.02);
}

TEST(Inputs, MixtureHasOneScaleABlockForAllRanks) {
  constexpr std::size_t blocks = 64;
  const auto here = make("mixture", blocks * 256);
  const auto there = make("mixture", blocks * 256, 1);
  double least = 1e300, largest = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto norm = [&](const std::vector<double>& values) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(b * 256);
      return std::sqrt(std::inner_product(begin, begin + 256, begin, 0.0));
    };
    EXPECT_NEAR(norm(here) / norm(there), 1, 0.3) << "block " << b;
    least = std::min(least, norm(here));
    largest = std::max(largest, norm(here));
  }
  EXPECT_GT(largest / least, 100);
}

TEST(Inputs, SmoothHasSmallSteps) {
  const auto values = make("smooth", 20000);
  for (std::size_t i = 1; i < values.size(); ++i)
    ASSERT_LT(std::abs(values[i] - values[i - 1]), 0.006) << "element " << i;
  EXPECT_GT(*std::ranges::max_element(values), 1);
}

constexpr std::size_t field_side = 64;
constexpr std::size_t field_points = field_side * field_side * field_side;

/// Along an axis whose neighbours lie `stride` elements apart; periodic.
double largest_step(const std::vector<double>& field, std::size_t stride) {
  double largest = 0;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool last = i / stride % field_side == field_side - 1;
    const std::size_t next = last ? i - (field_side - 1) * stride : i + stride;
    largest = std::max(largest, std::abs(field[next] - field[i]));
  }
  return largest;
}

TEST(Inputs, FieldIsSmoothAndPeriodicAlongAllThreeAxes) {
  const auto field = make("field", field_points);
  // 24 waves with 1 to 8 periods p and amplitude 1/p^2: no slope can exceed the sum of 3 / p.
  const double bound = 2 * std::numbers::pi / field_side * 3 * 2.72 + 1e-4;
  for (const std::size_t stride : {std::size_t{1}, field_side, field_side * field_side}) {
    EXPECT_LT(largest_step(field, stride), bound) << "stride " << stride;
    EXPECT_GT(largest_step(field, stride), 0.05) << "stride " << stride;
  }
  // Independent waves: the mean square is the sum of amplitude^2 / 2, but for those that coincide.
  EXPECT_NEAR(mean_of(field, [](double x) { return x * x; }), 3 * 1.0772 / 2, 1.0);
}

TEST(Inputs, FieldHasNoiseOfOneHundredThousandth) {
  // Of a field with a fine grid, fourth differences are small, but of noise: sqrt(70) sigma.
  constexpr std::size_t side = 1000, rows = 100, differences = side - 4;
  const auto input = make_input("field", seed, 0);
  input->set_length(side * side * side);
  std::vector<double> field(rows * side);
  input->generate(0, field);
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t z = 0; z < differences; ++z) {
      const double* const x = &field[row * side + z];
      const double fourth = x[0] - 4 * x[1] + 6 * x[2] - 4 * x[3] + x[4];
      sum += fourth * fourth;
    }
  EXPECT_NEAR(std::sqrt(sum / (rows * differences) / 70), 1e-5, 3e-7);
}

TEST(Inputs, FieldFillsTheSmallestCubeThatHoldsIt) {
  // One element less has the same cube, so the same values; one more has a larger one.
  const auto whole = make("field", 27'000);
  const auto shorter = make("field", 26'999);
  for (std::size_t i = 0; i < shorter.size(); ++i) ASSERT_EQ(shorter[i], whole[i]);
  EXPECT_NE(make("field", 27'001)[1], whole[1]);
}

TEST(Inputs, SparseHasTheDensityAskedFor) {
  for (const auto& [spec, density] :
       std::map<std::string, double>{{"sparse:0.01", 0.01}, {"sparse:0.5", 0.5}, {"sparse:1", 1}}) {
    const auto values = make(spec, 1 << 17);
    const auto nonzero = [](double x) { return x != 0 ? 1.0 : 0.0; };
    EXPECT_NEAR(mean_of(values, nonzero), density, 0.01 * density + 0.002) << spec;
  }
}

TEST(Inputs, SparseBlocksAreRunsAndSameIsAlikeOnAllRanks) {
  const auto blocks = make("sparse:0.2:blocks", 1 << 18);
  std::size_t dense = 0;
  for (std::size_t first = 0; first < blocks.size(); first += 1024) {
    dense += blocks[first] != 0;
    for (std::size_t i = 1; i < 1024; ++i)
      ASSERT_EQ(blocks[first + i] != 0, blocks[first] != 0) << first << " + " << i;
  }
  EXPECT_NEAR(static_cast<double>(dense), 0.2 * 256, 25);

  const auto mine = make("sparse:0.1:same", 10000, 0), theirs = make("sparse:0.1:same", 10000, 1);
  const auto other = make("sparse:0.1", 10000, 1);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    ASSERT_EQ(mine[i] != 0, theirs[i] != 0) << i;
    differing += (mine[i] != 0) != (other[i] != 0);
  }
  EXPECT_NE(mine, theirs);
  EXPECT_GT(differing, 1000u);
}

TEST(Inputs, WideHasAsManyBinadesAsAskedFor) {
  const auto values = make("wide:40", 1 << 16);
  std::map<int, int> binades;
  for (const double value : values) ++binades[std::ilogb(value)];
  // N(0, 1) itself lies in some binades around 1, so the middle ones are alike.
  const double each = (1 << 16) / 41.0;
  for (int exponent = -15; exponent <= 15; ++exponent)
    EXPECT_NEAR(binades[exponent], each, 6 * std::sqrt(each)) << exponent;
  EXPECT_LT(binades.rbegin()->first, 23);
  EXPECT_GT(binades.begin()->first, -40);
}

TEST(Inputs, WrongNamesAreRefusedWithTheRightOnes) {
  const auto message_of = [](const std::string& spec) -> std::string {
    try {
      make_input(spec, seed, 0);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of("gauss2"),
            "unknown input 'gauss2': it should be one of gauss, lognormal, mixture, smooth, field, "
            "sparse:DENSITY[:blocks|:same], wide:BINADES, or a .npy or .npz file");
  for (const char* density : {"", "0", "-1", "1.5", "nan", "0.1x", "x"})
    EXPECT_NE(message_of(std::string("sparse:") + density).find("above 0 and at most 1"),
              std::string::npos)
        << density;
  for (const char* binades : {"", "0", "-4", "2001", "40.5", "x"})
    EXPECT_NE(message_of(std::string("wide:") + binades).find("whole number from 1 to 2000"),
              std::string::npos)
        << binades;
  EXPECT_NE(message_of("sparse:0.1:rows").find(":blocks or :same"), std::string::npos);
  EXPECT_NE(message_of("missing.npy").find("missing.npy: cannot be opened"), std::string::npos);
  EXPECT_NE(message_of("./gauss").find("cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace cohom::bench
