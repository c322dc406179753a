// The sums and deals of cohom-reproducible: which of them depend on the order.

#include "reproducible/binned_sum.hpp"
#include "reproducible/deal.hpp"
#include "reproducible/double_sum.hpp"
#include "reproducible/integer_digits.hpp"
#include "reproducible/number_order.hpp"
#include "reproducible/vector_source.hpp"

#include "long_sum.hpp"
#include "support/input_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

template <class T>
std::vector<T> random_values(std::mt19937_64& random, std::size_t count, int binades) {
  std::vector<T> values(count);
  for (T& value : values)
    value = static_cast<T>(
        std::ldexp(static_cast<double>(random()) * 0x1p-63 - 1,
                   static_cast<int>(random() % static_cast<unsigned>(binades)) - binades / 2));
  return values;
}

template <class T>
double right_sum(const std::vector<T>& values) {
  LongSum sum;
  for (const T value : values) sum.add(static_cast<double>(value));
  return sum.rounded(sizeof(T) == 4 ? ElementType::f32 : ElementType::f64);
}

/// Adds all values to sums that the ranks of a random deal have, and those to one another.
template <class T>
BinnedSum<T> binned_in_any_order(std::mt19937_64& random, std::vector<T> values) {
  std::ranges::shuffle(values, random);
  std::vector<BinnedSum<T>> sums(1 + random() % 8);
  for (const T value : values) sums[random() % sums.size()].add(value);
  BinnedSum<T> all;
  for (const auto& sum : sums) all.add(sum);
  return all;
}

template <class T>
class SumsOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SumsOf, Types);

TYPED_TEST(SumsOf, BinsHaveTheSameBitsInAnyOrder) {
  using T = TypeParam;
  using Bytes = std::array<std::byte, sizeof(BinnedSum<T>)>;
  std::mt19937_64 random(1);
  for (const int binades : {1, 10, 60, 200})
    for (int round = 0; round < 50; ++round) {
      const auto values = random_values<T>(random, 1 + random() % 300, binades);
      const auto bits = std::bit_cast<Bytes>(binned_in_any_order(random, values));
      for (int order = 0; order < 5; ++order)
        ASSERT_EQ(bits, std::bit_cast<Bytes>(binned_in_any_order(random, values)))
            << binades << " binades, round " << round;
    }
}

TYPED_TEST(SumsOf, BinsLoseOnlyWhatLiesFarBelow) {
  using T = TypeParam;
  std::mt19937_64 random(2);
  constexpr double kept = sizeof(T) == 4 ? 0x1p-25 : 0x1p-78;  // two bins below the largest number
  for (const int binades : {1, 10, 60})
    for (int round = 0; round < 200; ++round) {
      const auto values = random_values<T>(random, 100, binades);
      double largest = 0;
      for (const T value : values) largest = std::max(largest, std::abs(double{value}));
      const double right = right_sum(values);
      const T found = binned_in_any_order(random, values).value();
      ASSERT_LE(
          std::abs(double{found} - right),
          4 * double{std::numeric_limits<T>::epsilon()} * std::abs(right) + 100 * kept * largest)
          << binades << " binades, round " << round;
    }
}

TYPED_TEST(SumsOf, BinsReachFromTheirLimitToTheLeastNormalNumber) {
  using T = TypeParam;
  const T large = std::nextafter(BinnedSum<T>::limit(), T{0});
  BinnedSum<T> sum;
  EXPECT_EQ(sum.value(), 0);
  for (const T value : {large, large, T{-3}, -large, -large}) sum.add(value);
  EXPECT_EQ(sum.value(), 0);  // as ReproBLAS: -3 lies below the bins that are kept
  const T small = 4 * std::numeric_limits<T>::min();
  BinnedSum<T> other;
  for (const T value : {small, small, T{0}}) other.add(value);
  EXPECT_EQ(other.value(), 2 * small);
}

TYPED_TEST(SumsOf, IntegersHaveTheSameDigitsInAnyOrderAndTheRightSum) {
  using T = TypeParam;
  std::mt19937_64 random(3);
  for (const int binades : {1, 40, 200})
    for (int round = 0; round < 100; ++round) {
      auto values = random_values<T>(random, 64, binades);
      const IntegerDigits digits(range_of<T>(values), values.size());
      std::vector<std::int64_t> one(digits.size()), other(digits.size()), rest(digits.size());
      for (const T value : values) digits.add(double{value}, one.data());
      std::ranges::shuffle(values, random);
      for (std::size_t i = 0; i < values.size(); ++i)
        digits.add(double{values[i]}, (random() % 2 == 0 ? other : rest).data());
      for (std::size_t i = 0; i < other.size(); ++i) other[i] += rest[i];
      ASSERT_EQ(one, other);
      const T right = static_cast<T>(right_sum(values));
      ASSERT_LE(places_apart(right, static_cast<T>(digits.value(one))), 1u)
          << binades << " binades, round " << round;
    }
}

TEST(IntegerDigits, WhatCancelsLeavesTheRest) {
  const std::vector<double> values = {0x1p200, 3, -0x1p200, -0x1p100, 0x1p-1000, 0x1p100};
  const BitRange range = range_of<double>(values);
  const IntegerDigits digits(range, values.size());
  std::vector<std::int64_t> sum(digits.size());
  for (const double value : values) digits.add(value, sum.data());
  digits.add(-3, sum.data());
  EXPECT_EQ(digits.value(sum), 0x1p-1000);
  const IntegerDigits none(BitRange{}, 4);  // only zeros
  std::vector<std::int64_t> zeros(none.size());
  none.add(0, zeros.data());
  EXPECT_EQ(none.value(zeros), 0);
}

TEST(IntegerDigits, DenormalsAndTheLargestNumbers) {
  const std::vector<double> values = {0x1.fffffffffffffp+1023, 0x1p-1074, -0x1.fffffffffffffp+1023};
  const BitRange range = range_of<double>(values);
  EXPECT_EQ(range.lowest, -1074);
  EXPECT_EQ(range.end, 1024);
  const IntegerDigits digits(range, values.size());
  std::vector<std::int64_t> sum(digits.size());
  for (const double value : values) digits.add(value, sum.data());
  EXPECT_EQ(digits.value(sum), 0x1p-1074);
}

TEST(DoubleSum, KeepsWhatRoundingTakes) {
  DoubleSum<double> sum;
  for (const double value : {1.0, 1e100, 1.0, -1e100}) sum.add(value);
  EXPECT_EQ(sum.value(), 2);
  DoubleSum<float> one, other;
  one.add(0x1p30f);
  one.add(1);
  other.add(-0x1p30f);
  other.add(1);
  one.add(other);
  EXPECT_EQ(one.value(), 2);
}

TEST(DoubleSum, DependsOnTheOrderWhereThreeSizesMeet) {
  DoubleSum<float> down, up;
  for (const float value : {0x1p60f, 0x1p30f, 1.0f, -0x1p60f, -0x1p30f}) down.add(value);
  for (const float value : {0x1p60f, -0x1p60f, 0x1p30f, -0x1p30f, 1.0f}) up.add(value);
  EXPECT_EQ(down.value(), 0);
  EXPECT_EQ(up.value(), 1);
}

TEST(NumberOrder, CountsNumbers) {
  EXPECT_EQ(places_apart(1.0f, std::nextafter(1.0f, 2.0f)), 1u);
  EXPECT_EQ(places_apart(-0.0, 0.0), 0u);
  EXPECT_EQ(places_apart(-5e-324, 5e-324), 2u);
  EXPECT_EQ(places_apart(1.0f, 2.0f), 1u << 23);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(places_apart(-largest, largest), 2 * 0x7fefffffffffffffu);
}

TEST(Deal, GivesEachVectorToOneRank) {
  for (const int ranks : {1, 3, 8})
    for (const Deal& deal : {deal_in_blocks(64, ranks), deal_at_random(64, ranks, 1)}) {
      ASSERT_EQ(deal.size(), static_cast<std::size_t>(ranks));
      std::multiset<std::size_t> all;
      for (const auto& vectors : deal) all.insert(vectors.begin(), vectors.end());
      ASSERT_EQ(all.size(), 64u);
      for (std::size_t v = 0; v < 64; ++v) ASSERT_EQ(all.count(v), 1u);
    }
  EXPECT_EQ(deal_in_blocks(5, 3), (Deal{{0}, {1, 2}, {3, 4}}));
  EXPECT_EQ(deal_at_random(64, 3, 1), deal_at_random(64, 3, 1));
  EXPECT_NE(deal_at_random(64, 3, 1), deal_at_random(64, 3, 2));
}

TEST(VectorSource, HasTheVectorsOfCohomBench) {
  VectorSource source("gauss", 1, 3, 1000);
  std::vector<double> vector(1000), part(10);
  for (std::size_t v = 0; v < 3; ++v) {
    source.generate(v, 0, vector);
    EXPECT_EQ(vector, input_case::make("gauss", 1000, static_cast<int>(v)));
    source.generate(v, 500, part);
    EXPECT_TRUE(std::ranges::equal(part, std::span(vector).subspan(500, 10)));
  }
}

TEST(VectorSource, GoesOnWhereAFilesRowsEnd) {
  const std::string file = std::string(COHOM_DATA) + "/digits_step100.npy";
  VectorSource source(file, 1, 10, 1000);
  std::set<std::vector<double>> vectors;
  for (std::size_t v = 0; v < 10; ++v) {
    std::vector<double> vector(1000);
    source.generate(v, 0, vector);
    vectors.insert(vector);
    const auto row = input_case::make(file, 3000, static_cast<int>(v % 4));
    const auto first = static_cast<std::ptrdiff_t>(1000 * (v / 4));
    EXPECT_TRUE(std::equal(vector.begin(), vector.end(), row.begin() + first)) << v;
  }
  EXPECT_EQ(vectors.size(), 10u);
}

}  // namespace
}  // namespace cohom::bench
