// topk beside a plain selection: which elements it sends, what it keeps, and what it never loses.

#include "codecs/topk/topk.hpp"

#include "codec_harness.hpp"
#include "elements.hpp"
#include "sparse_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Vector = std::vector<double>;

/// What is sent of a vector: the k largest magnitudes, of equals the first; others are 0.
Vector largest(const Vector& values, std::size_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::abs(values[a]) > std::abs(values[b]);
  });
  Vector sent(values.size());
  for (std::size_t i = 0; i < k; ++i) sent[order[i]] = values[order[i]];
  return sent;
}

std::size_t nonzeros(const Vector& values) {
  return values.size() - std::size_t(std::ranges::count(values, 0.0));
}

CodecHarness harness_of(int ranks, const Parameters& parameters,
                        ElementType type = ElementType::f32, bool in_place = false) {
  return CodecHarness({.make = make_topk,
                       .ranks = ranks,
                       .type = type,
                       .parameters = parameters,
                       .in_place = in_place});
}

/// Small whole numbers, of which every type holds all sums: most magnitudes are those of others.
Vector whole_numbers(std::size_t count, std::uint64_t seed) {
  Vector values = normal_values(count, seed);
  for (double& value : values) value = std::round(10 * value);
  return values;
}

TEST(Topk, SumsTheLargestOfEachRank) {
  for (const ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16})
    for (const int ranks : {1, 2, 5})
      for (const std::size_t count : {1, 100, 3001})
        for (const auto* fraction : {"0.01", "1/3", "1"}) {
          std::vector<Vector> inputs;
          Vector expected(count);
          const double share = fraction[0] == '0' ? 0.01 : fraction[1] == '/' ? 1.0 / 3 : 1;
          const auto k = std::size_t(std::ceil(share * double(count)));
          for (int rank = 0; rank < ranks; ++rank) {
            inputs.push_back(whole_numbers(count, std::uint64_t(rank)));
            const Vector sent = largest(inputs.back(), k);
            for (std::size_t i = 0; i < count; ++i) expected[i] += sent[i];
          }
          auto harness = harness_of(ranks, {{"fraction", fraction}}, type, ranks == 2);
          EXPECT_EQ(harness.allreduce(inputs), expected)
              << name_of(type) << ", " << ranks << " ranks, " << count << " by " << fraction;
        }
}

/// Nothing is lost: what was summed so far and what ranks keep are together all that came.
TEST(Topk, FeedsBackWhatItLeavesOut) {
  constexpr std::size_t count = 2000, k = 100;
  for (const auto* select : {"exact", "threshold"}) {
    auto harness = harness_of(
        2, {{"fraction", "0.05"}, {"select", select}, {"error_feedback", "on"}}, ElementType::f64);
    std::vector<Vector> kept(2, Vector(count));
    for (std::uint64_t step = 0; step < 20; ++step) {
      std::vector<Vector> inputs;
      Vector expected(count);
      for (std::size_t rank = 0; rank < 2; ++rank) {
        inputs.push_back(whole_numbers(count, 2 * step + rank));
        for (std::size_t i = 0; i < count; ++i) kept[rank][i] += inputs[rank][i];
      }
      const Vector sums = harness.allreduce(inputs, step);
      for (std::size_t rank = 0; rank < 2; ++rank) {
        const Vector left = to_values(ElementType::f64, harness.state(int(rank)));
        Vector sent = kept[rank];
        for (std::size_t i = 0; i < count; ++i) {
          sent[i] -= left[i];
          expected[i] += sent[i];
        }
        if (std::string(select) == "exact") {
          EXPECT_EQ(sent, largest(kept[rank], k)) << "step " << step;
        } else {
          const std::size_t taken = nonzeros(sent);
          EXPECT_GE(2 * taken, k);
          EXPECT_LE(taken, 2 * k);
          EXPECT_EQ(sent, largest(kept[rank], taken)) << "step " << step;
        }
        kept[rank] = left;
      }
      ASSERT_EQ(sums, expected) << "step " << step;
    }
  }
}

/// Of vectors unlike those that it assumes, too.
TEST(Topk, EstimatesAThreshold) {
  constexpr std::size_t count = 50000;
  std::vector<Vector> shapes{Vector(count, 3), normal_values(count, 1),
                             sparse_values(count, 0.1, 2), Vector(count)};
  Vector heavy = normal_values(count, 4);
  for (double& value : heavy) value = std::pow(value, 9);
  shapes.push_back(heavy);
  for (std::size_t i = 0; i < count; ++i) shapes[3][i] = double(i % 7) - 3;
  Vector one_large(count, 1e-30);
  one_large[7] = 1e30;
  shapes.push_back(one_large);
  for (const double fraction : {0.001, 0.01, 0.3}) {
    const double k = fraction * count;
    auto harness = harness_of(1, {{"fraction", std::to_string(fraction)}, {"select", "threshold"}},
                              ElementType::f64);
    for (const Vector& shape : shapes) {
      const Vector sent = harness.allreduce(std::vector<Vector>{shape});
      const std::size_t taken = nonzeros(sent);
      if (nonzeros(shape) < k / 2) {
        EXPECT_EQ(sent, shape);
      } else {
        EXPECT_GE(double(taken), k / 2);
        EXPECT_LE(double(taken), 2 * k);
      }
      EXPECT_EQ(sent, largest(shape, taken));
    }
  }
}

/// A rank that has them says so, however many they are, and they do not come back.
TEST(Topk, NeverLeavesOutWhatIsNotFinite) {
  constexpr std::size_t count = 1000;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    auto harness = harness_of(2, {{"fraction", "0.01"}, {"error_feedback", "on"}}, type);
    std::vector<Vector> inputs(2, Vector(count, 1.0));
    for (std::size_t i = 0; i < count; i += 10) inputs[0][i] = i % 20 == 0 ? infinity : -infinity;
    inputs[0][5] = std::numeric_limits<double>::quiet_NaN();
    const Vector sums = harness.allreduce(inputs);
    for (std::size_t i = 0; i < count; i += 10)
      EXPECT_EQ(sums[i], i % 20 == 0 ? infinity : -infinity);
    EXPECT_TRUE(std::isnan(sums[5]));
    const Vector next = harness.allreduce(std::vector<Vector>(2, Vector(count)), 1);
    for (const double value : next) EXPECT_TRUE(std::isfinite(value));
    EXPECT_EQ(nonzeros(next), 18u) << "10 of each rank, of which both have two";
  }
}

/// What waited until it was too large for the type goes in several calls.
TEST(Topk, LosesNothingThatIsTooLargeForItsType) {
  constexpr std::size_t count = 100, calls = 300;
  auto harness = harness_of(1, {{"fraction", "0.01"}, {"error_feedback", "on"}}, ElementType::f16);
  Vector came(count);
  for (std::uint64_t step = 0; step < calls; ++step) {
    const Vector sums = harness.allreduce(std::vector<Vector>{Vector(count, 1024.0)}, step);
    for (std::size_t i = 0; i < count; ++i) came[i] += sums[i];
  }
  const Vector left = to_values(ElementType::f32, harness.state(0));
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(came[i] + left[i], 1024.0 * calls) << i;
}

TEST(Topk, TakesNoZeros) {
  Vector values(5000);
  values[3] = -0.0;
  values[17] = 1e-42;
  values[4999] = -2;
  for (const auto* select : {"exact", "threshold"}) {
    auto harness = harness_of(1, {{"fraction", "0.5"}, {"select", select}});
    const Vector sums = harness.allreduce(std::vector<Vector>{values});
    EXPECT_FALSE(std::signbit(sums[3])) << "it was taken";
    EXPECT_EQ(sums[4999], -2);
    EXPECT_EQ(sums[17], double(1e-42F));
    EXPECT_EQ(nonzeros(sums), 2u);
    EXPECT_EQ(nonzeros(harness.allreduce(std::vector<Vector>{Vector(5000)})), 0u);
  }
}

}  // namespace
}  // namespace cohom::test
