// The arithmetic of the benchmark: conversions, error ratio, time summary. What judges the library
// is judged here.

#include "element_values.hpp"
#include "error_ratio.hpp"
#include "half.hpp"
#include "time_summary.hpp"

#include "kernels/core/body/float16.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace cohom::bench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Floats that meet every case of rounding to 16 bits: all signs and exponents, and mantissas
/// around each place where a bit is cut.
std::vector<float> telling_floats() {
  std::vector<float> values;
  for (std::uint32_t top = 0; top < 512; ++top)
    for (int bit = -1; bit < 23; ++bit)
      for (const int beside : {-1, 0, 1}) {
        const std::uint32_t base = bit < 0 ? 0 : 1u << bit;
        const std::uint32_t mantissa = (base + static_cast<std::uint32_t>(beside)) & 0x7fffffu;
        values.push_back(std::bit_cast<float>(top << 23 | mantissa));
        values.push_back(std::bit_cast<float>(top << 23 | (mantissa ^ 0x7fe000u)));
      }
  return values;
}

TEST(Half, AgreesWithTheLibraryOnAllHalves) {
  namespace body = kernels::body;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float f16 = to_float(float16{half}), bf16 = to_float(bfloat16{half});
    ASSERT_EQ(std::isnan(f16), std::isnan(body::f16_to_f32(half)));
    ASSERT_EQ(std::isnan(bf16), std::isnan(body::bf16_to_f32(half)));
    if (!std::isnan(f16)) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(f16),
                std::bit_cast<std::uint32_t>(body::f16_to_f32(half)));
    }
    if (!std::isnan(bf16)) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16),
                std::bit_cast<std::uint32_t>(body::bf16_to_f32(half)));
    }
  }
}

TEST(Half, RoundsAsTheLibraryDoes) {
  namespace body = kernels::body;
  for (const float value : telling_floats()) {
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_float16(value))));
      EXPECT_TRUE(std::isnan(to_float(to_bfloat16(value))));
      continue;
    }
    ASSERT_EQ(to_float16(value).bits, body::f32_to_f16(value)) << value;
    ASSERT_EQ(to_bfloat16(value).bits, body::f32_to_bf16(value)) << value;
  }
}

TEST(ElementValues, ComeBackAsTheyWere) {
  // Exact in every type.
  const std::vector<double> values = {0, -0.0, 1, -2.5, 65280, 0x1p-14, infinity};
  for (const ElementType type : all_element_types) {
    Elements elements(type, values.size());
    store(type, values, elements.data());
    std::vector<double> back(values.size());
    load(type, elements.data(), back);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(back[i], values[i]) << name_of(type);
    EXPECT_TRUE(std::signbit(back[1])) << name_of(type);
  }
}

TEST(ErrorRatio, IsSquaredErrorOverSquares) {
  ErrorRatio ratio;
  EXPECT_EQ(ratio.value(), 0);
  ratio.add(3, 3);
  ratio.add(4, 4.5);
  EXPECT_DOUBLE_EQ(ratio.value(), 0.25 / 25);
}

TEST(ErrorRatio, TakesDoublesWhoseSquaresAreNone) {
  for (const double unit : {1e300, 1e-300}) {
    ErrorRatio ratio;
    ratio.add(3 * unit, 3 * unit);
    ratio.add(4 * unit, 4.5 * unit);
    EXPECT_NEAR(ratio.value(), 0.25 / 25, 1e-12);
  }
}

TEST(ErrorRatio, SeesWhatIsNotFinite) {
  ErrorRatio right;
  right.add(2, 2);
  right.add(infinity, infinity);
  right.add(nan, nan);
  EXPECT_EQ(right.value(), 0);
  right.add(4, 5);
  EXPECT_DOUBLE_EQ(right.value(), 1.0 / 20);
  const std::array<std::array<double, 2>, 4> wrong_pairs = {
      {{1, nan}, {nan, 1}, {infinity, 1}, {infinity, -infinity}}};
  for (const auto& [expected, found] : wrong_pairs) {
    ErrorRatio wrong;
    wrong.add(2, 2);
    wrong.add(expected, found);
    EXPECT_EQ(wrong.value(), infinity);
  }
  ErrorRatio of_zero;
  of_zero.add(0, 1e-3);
  EXPECT_EQ(of_zero.value(), infinity);
}

TEST(TimeSummary, TakesMedianAndPercentile) {
  const auto one = summarise({3});
  EXPECT_EQ(one.min, 3);
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.p99, 3);
  const auto four = summarise({4, 1, 2, 8});
  EXPECT_EQ(four.min, 1);
  EXPECT_EQ(four.median, 3);
  EXPECT_EQ(four.p99, 8);
  std::vector<double> many;
  for (int i = 1000; i >= 1; --i) many.push_back(i);
  EXPECT_EQ(summarise(many).median, 500.5);
  EXPECT_EQ(summarise(many).p99, 990);
}

}  // namespace
}  // namespace cohom::bench
