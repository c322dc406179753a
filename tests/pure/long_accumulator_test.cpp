#include "codecs/common/long_accumulator.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

constexpr ElementType types[] = {ElementType::f64, ElementType::f32, ElementType::f16,
                                 ElementType::bf16};

/// The words of partial sums, added one by one, in place of the numbers themselves.
double sum_of_parts(std::span<const double> values, std::size_t parts, ElementType type,
                    std::uint64_t divisor) {
  std::vector<std::uint64_t> words(LongAccumulator::words(type)), more(words.size());
  for (std::size_t part = 0; part < parts; ++part) {
    LongAccumulator sum;
    for (std::size_t i = part; i < values.size(); i += parts) sum.add(values[i]);
    sum.store(type, more);
    for (std::size_t w = 0; w < words.size(); ++w) words[w] += more[w];
  }
  LongAccumulator whole;
  whole.add(1);  // is gone
  whole.load(type, words);
  return whole.rounded(type, divisor);
}

double random_number(ElementType type, std::mt19937_64& random) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {0.0, -0.0, infinity, -infinity, nan};
  if (random() % 64 == 0) return special[random() % 5];
  const auto [low, high, bits] = [&] {
    switch (type) {
      case ElementType::f64: return std::array{-1074, 1023, 53};
      case ElementType::f32: return std::array{-149, 127, 24};
      case ElementType::f16: return std::array{-24, 15, 11};
      default: return std::array{-133, 127, 8};
    }
  }();
  // Of all exponents, the highest and the lowest included.
  const auto last = static_cast<int>(random() % std::uint64_t(high - low + 1)) + low;
  const int precision = std::min(bits, last - low + 1);
  const auto mantissa =
      static_cast<double>(std::uint64_t{1} << (precision - 1) | random() >> 1 >> (64 - precision));
  const double value = std::ldexp(mantissa, last - precision + 1);
  return random() % 2 == 0 ? value : -value;
}

TEST(LongAccumulator, PartialSumsOfAnyNumbersAddUp) {
  std::mt19937_64 random(9);
  for (const ElementType type : types)
    for (int i = 0; i < 2000; ++i) {
      std::vector<double> values(2 + random() % 12);
      for (double& value : values) value = random_number(type, random);
      if (i % 8 == 0) values.assign(values.size(), -0.0);
      const std::uint64_t divisor = i % 2 == 0 ? 1 : values.size();
      const double whole = sum_of(values, type, divisor);
      for (const std::size_t parts : {std::size_t{1}, std::size_t{2}, values.size()}) {
        const double sum = sum_of_parts(values, parts, type, divisor);
        if (std::isnan(whole))
          EXPECT_TRUE(std::isnan(sum));
        else
          EXPECT_EQ(sum, whole) << parts << " parts";
        EXPECT_EQ(std::signbit(sum), std::signbit(whole));
      }
    }
}

/// They come from other ranks.
TEST(LongAccumulator, WordsThatAreNoSumAreRefused) {
  for (const ElementType type : types)
    for (const std::uint64_t digit : {std::uint64_t{1} << 63, (std::uint64_t{1} << 62) + 1}) {
      std::vector<std::uint64_t> words(LongAccumulator::words(type));
      words.back() = digit;
      LongAccumulator sum;
      EXPECT_THROW(sum.load(type, words), Error);
      words.assign(words.size(), ~std::uint64_t{0});  // NaNs and -1 in all digits
      sum.load(type, words);
      EXPECT_TRUE(std::isnan(sum.rounded(type, 1)));
    }
}

}  // namespace
}  // namespace cohom::test
