// The sum that results of the benchmark are held to, and the elements that are looked at.

#include "long_sum.hpp"

#include "codecs/common/long_accumulator.hpp"
#include "element_sample.hpp"
#include "element_values.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace cohom::bench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double sum_of(const std::vector<double>& values, ElementType type, std::uint64_t divisor = 1) {
  LongSum sum;
  for (const double value : values) sum.add(value);
  return sum.rounded(type, divisor);
}

TEST(LongSum, NothingIsLost) {
  EXPECT_EQ(sum_of({1e308, 1e308, 5e-324, -1e308, -1e308}, ElementType::f64), 5e-324);
  EXPECT_EQ(sum_of({1e30, 1e-30, -1e30}, ElementType::f64), 1e-30);
  EXPECT_EQ(sum_of({-0x1p127, 0x1p-149, 0x1p127}, ElementType::f32), 0x1p-149);
  // A carry goes through all bits between, and comes back.
  EXPECT_EQ(sum_of({0x1p1000, -0x1p-1074, -0x1p1000}, ElementType::f64), -0x1p-1074);
  EXPECT_EQ(sum_of({0x1.fffffffffffffp+1023, 0x1p971, -0x1p1023, -0x1p1023}, ElementType::f64), 0);
}

TEST(LongSum, TiesGoToEvenAndWhatLiesBesideThemDoesNot) {
  EXPECT_EQ(sum_of({0x1p24, 1}, ElementType::f32), 0x1p24);
  EXPECT_EQ(sum_of({0x1p24, 1, 0x1p-1074}, ElementType::f32), 0x1p24 + 2);
  EXPECT_EQ(sum_of({0x1p24, 1, -0x1p-1074}, ElementType::f32), 0x1p24);
  EXPECT_EQ(sum_of({0x1p24, 3}, ElementType::f32), 0x1p24 + 4);
  EXPECT_EQ(sum_of({0x1p24, 3, -0x1p-1074}, ElementType::f32), 0x1p24 + 2);
  // Rounded to f64 first it would be a tie.
  EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-80}, ElementType::f32), 1 + 0x1p-23);
  EXPECT_EQ(sum_of({256, 1}, ElementType::bf16), 256);
  EXPECT_EQ(sum_of({2048, 1, 0x1p-20}, ElementType::f16), 2050);
}

TEST(LongSum, MeansDenormalsAndOverflow) {
  EXPECT_EQ(sum_of({1e308, 1e308, 1e308}, ElementType::f64, 3), 1e308);
  EXPECT_EQ(sum_of({1e308, 1e308}, ElementType::f64), infinity);
  EXPECT_EQ(sum_of({-65504, -16}, ElementType::f16), -infinity);
  EXPECT_EQ(sum_of({-65504, -15.99}, ElementType::f16), -65504);
  EXPECT_EQ(sum_of({0x1p-1074, 0x1p-1074, 0x1p-1074}, ElementType::f64, 2), 0x1p-1073);
  EXPECT_EQ(sum_of({0x1p-1074}, ElementType::f64, 2), 0);
  EXPECT_EQ(sum_of({0x1p-1073, 0x1p-1074}, ElementType::f64, 5), 0x1p-1074);
  EXPECT_EQ(sum_of({0x1p-150, 0x1p-1074}, ElementType::f32), 0x1p-149);
  EXPECT_EQ(sum_of({0x1p-134}, ElementType::bf16), 0);
  EXPECT_EQ(sum_of({0x1p-25, 0x1p-60}, ElementType::f16), 0x1p-24);
  EXPECT_TRUE(std::signbit(sum_of({-0x1p-1074}, ElementType::f32)));
}

TEST(LongSum, SpecialValues) {
  EXPECT_TRUE(std::isnan(sum_of({1, nan, infinity}, ElementType::f32)));
  EXPECT_TRUE(std::isnan(sum_of({infinity, 1, -infinity}, ElementType::f64)));
  EXPECT_EQ(sum_of({-infinity, 1e308}, ElementType::bf16), -infinity);
  EXPECT_TRUE(std::signbit(sum_of({-0.0, -0.0}, ElementType::f32, 2)));
  EXPECT_FALSE(std::signbit(sum_of({-0.0, 0.0}, ElementType::f32)));
  EXPECT_FALSE(std::signbit(sum_of({1, -1}, ElementType::f32)));
  EXPECT_FALSE(std::signbit(sum_of({-1, -0.0, 1}, ElementType::f32)));
  EXPECT_FALSE(std::signbit(sum_of({}, ElementType::f32)));
  EXPECT_TRUE(same_number(nan, -nan));
  EXPECT_FALSE(same_number(0.0, -0.0));
  EXPECT_FALSE(same_number(nan, 1));
}

/// Over the whole range of exponents, or so close together that sums meet ties and cancel.
double random_value(std::mt19937_64& random, ElementType type, bool close) {
  double value = 0;
  do {
    value = close ? std::ldexp(static_cast<double>(random() % 2048) - 1024,
                               static_cast<int>(random() % 24) - 20)
                  : std::bit_cast<double>(random());
    std::array<std::byte, 8> element{};
    store(type, {&value, 1}, element.data());
    load(type, element.data(), {&value, 1});
  } while (std::isnan(value));
  return value;
}

TEST(LongSum, AgreesWithTheLibrary) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const ElementType type = all_element_types[random() % 4];
    const std::uint64_t count = 1 + random() % 9;
    const std::uint64_t divisor = i % 2 == 0 ? 1 : 1 + random() % (i % 3 == 0 ? 1u << 31 : 9);
    LongSum here;
    LongAccumulator there;
    for (std::uint64_t k = 0; k < count; ++k) {
      const double value = random_value(random, type, i % 4 < 3);
      here.add(value);
      there.add(value);
    }
    const double expected = there.rounded(type, divisor), found = here.rounded(type, divisor);
    ASSERT_TRUE(same_number(expected, found)) << i << ": " << expected << " and " << found;
  }
}

TEST(LongSum, ManyNumbersAndTheirNegatives) {
  std::mt19937_64 random(2);
  LongSum sum;
  for (int i = 0; i < 100'000; ++i) {
    double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) value = 1;
    sum.add(value);
    sum.add(-value);
  }
  EXPECT_EQ(sum.rounded(ElementType::f64), 0);
  sum.add(3);
  EXPECT_EQ(sum.rounded(ElementType::f64), 3);
  sum.clear();
  sum.add(-0.0);
  EXPECT_TRUE(std::signbit(sum.rounded(ElementType::f64)));
}

TEST(ElementSample, HasAllElementsOfAShortVector) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, ElementSample::max_elements}) {
    const ElementSample sample(count);
    ASSERT_EQ(sample.size(), count);
    for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(sample[k], k);
  }
}

TEST(ElementSample, SpreadsOverALongOneAndLeavesOutNoPlaceOfABlock) {
  constexpr std::size_t count = 16 * ElementSample::max_elements;
  const ElementSample sample(count);
  ASSERT_EQ(sample.size(), ElementSample::max_elements);
  std::set<std::size_t> places;
  for (std::size_t k = 0; k < sample.size(); ++k) {
    ASSERT_EQ(sample[k] / 16, k);
    places.insert(sample[k] % 1024);
  }
  EXPECT_EQ(places.size(), 1024u);
  const ElementSample odd(ElementSample::max_elements + 1);
  EXPECT_EQ(odd.size(), ElementSample::max_elements);
  for (std::size_t k = 1; k < odd.size(); ++k) ASSERT_LT(odd[k - 1], odd[k]);
  EXPECT_LE(odd[odd.size() - 1], ElementSample::max_elements);
}

}  // namespace
}  // namespace cohom::bench
