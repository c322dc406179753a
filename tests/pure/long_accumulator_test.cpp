#include "codecs/common/long_accumulator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace cohom::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double sum_of(std::span<const double> values, ElementType type, std::uint64_t divisor = 1) {
  LongAccumulator sum;
  for (const double value : values) sum.add(value);
  return sum.rounded(type, divisor);
}
double sum_of(std::initializer_list<double> values, ElementType type, std::uint64_t divisor = 1) {
  return sum_of(std::vector(values), type, divisor);
}

TEST(LongAccumulator, WhatCancelsLeavesTheRest) {
  EXPECT_EQ(sum_of({3e20, 1, -3e20}, ElementType::f64), 1);
  EXPECT_EQ(sum_of({1e308, 1e308, 5e-324, -1e308, -1e308}, ElementType::f64), 5e-324);
  EXPECT_EQ(sum_of({-0x1p127, 0x1p-149, 0x1p127}, ElementType::f32), 0x1p-149);
  EXPECT_EQ(sum_of({1e13, 0.25, -1e13, 0.5}, ElementType::f32), 0.75);
}

TEST(LongAccumulator, AMeanOverflowsOnlyWhereItIsTooLarge) {
  EXPECT_EQ(sum_of({30000, 30000, 30000}, ElementType::f16, 3), 30000);
  EXPECT_EQ(sum_of({30000, 30000, 30000}, ElementType::f16), infinity);
  EXPECT_EQ(sum_of({1e308, 1e308, 1e308}, ElementType::f64, 3), 1e308);
  EXPECT_EQ(sum_of({-1e308, -1e308}, ElementType::f64), -infinity);
  EXPECT_EQ(sum_of({65519}, ElementType::f16), 65504);
  EXPECT_EQ(sum_of({65520}, ElementType::f16), infinity);
}

TEST(LongAccumulator, Denormals) {
  EXPECT_EQ(sum_of({0x1p-1074, 0x1p-1074, 0x1p-1074}, ElementType::f64, 2), 0x1p-1073);  // 1.5
  EXPECT_EQ(sum_of({0x1p-1074}, ElementType::f64, 2), 0);
  EXPECT_EQ(sum_of({0x1p-1074, 0x1p-1074}, ElementType::f64, 3), 0x1p-1074);
  EXPECT_EQ(sum_of({0x1p-150, 0x1p-1074}, ElementType::f32), 0x1p-149);
  EXPECT_EQ(sum_of({0x1p-150}, ElementType::f32), 0);
  EXPECT_EQ(sum_of({-0x1p-1074}, ElementType::f32), 0);
}

TEST(LongAccumulator, SpecialValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sum_of({1, -nan}, ElementType::f32)));
  EXPECT_FALSE(std::signbit(sum_of({1, -nan}, ElementType::f32)));
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity}, ElementType::f32)));
  EXPECT_EQ(sum_of({infinity, 1}, ElementType::f32), infinity);
  EXPECT_EQ(sum_of({-infinity, 1e308}, ElementType::f64), -infinity);
  EXPECT_TRUE(std::signbit(sum_of({-0.0, -0.0}, ElementType::f32)));
  EXPECT_FALSE(std::signbit(sum_of({-0.0, 0.0}, ElementType::f32)));
  EXPECT_FALSE(std::signbit(sum_of({1, -1}, ElementType::f32)));
}

/// No value of the type is nearer, and of two that are as near the result is the even one. All in
/// units of 2^-60, which 128 bits hold.
TEST(LongAccumulator, IsTheNearestValue) {
  using Wide = __int128;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t count = 1 + random() % 7;
    std::vector<double> values;
    Wide exact = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto whole = static_cast<std::int64_t>(random() % (1u << 24)) - (1 << 23);
      const int shift = static_cast<int>(random() % 40);
      values.push_back(std::ldexp(static_cast<double>(whole), shift - 30));
      exact += Wide{whole} << (shift + 30);
    }
    const std::uint64_t divisor = i % 2 == 0 ? 1 : 1 + random() % 9;
    const auto found = static_cast<float>(sum_of(values, ElementType::f32, divisor));
    ASSERT_EQ(static_cast<double>(found), sum_of(values, ElementType::f32, divisor));
    const auto distance = [&](float value) {
      const Wide units = static_cast<Wide>(std::ldexp(static_cast<double>(value), 60));
      const Wide away = exact - units * Wide{divisor};
      return away < 0 ? -away : away;
    };
    if (std::abs(found) < 0x1p-36f) continue;  // neighbours are no whole units
    for (const float towards :
         {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()}) {
      const float other = std::nextafter(found, towards);
      ASSERT_LE(distance(found), distance(other)) << found << " " << other;
      if (distance(found) == distance(other)) {
        int exponent = 0;
        const double mantissa = std::frexp(static_cast<double>(found), &exponent);
        ASSERT_EQ(std::fmod(std::ldexp(mantissa, 24), 2), 0) << found;
      }
    }
  }
}

}  // namespace
}  // namespace cohom::test
