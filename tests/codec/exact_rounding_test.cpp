// exact: sums and means are correctly rounded, of every form that fields have; MPFR says so.
// codec.exact_kernels holds the kernels of instruction sets to those that are tested here.

#include "exact_data.hpp"
#include "exact_run.hpp"
#include "mpfr_reference.hpp"
#include "same_bytes.hpp"
#include "superaccumulator.hpp"
#include "thoroughness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// Where a result is wrong, with the ranks' elements.
testing::AssertionResult right(const ExactProblem& problem, std::span<const Bytes> inputs,
                               const Bytes& found, const Bytes& expected) {
  const std::size_t size = size_of(problem.type);
  for (std::size_t i = 0; i < problem.count; ++i) {
    if (std::equal(found.begin() + std::ptrdiff_t(i * size),
                   found.begin() + std::ptrdiff_t((i + 1) * size),
                   expected.begin() + std::ptrdiff_t(i * size)))
      continue;
    auto failure = testing::AssertionFailure();
    failure << std::hexfloat << "element " << i << " is " << to_values(problem.type, found)[i]
            << " instead of " << to_values(problem.type, expected)[i] << ", of";
    for (const Bytes& input : inputs) failure << ' ' << to_values(problem.type, input)[i];
    return failure;
  }
  return testing::AssertionSuccess();
}

class ExactRounding : public testing::TestWithParam<ElementType> {
 protected:
  /// Calls check(problem, inputs, expected) for every set and number of ranks.
  template <class Check>
  static void for_each_problem(Check check) {
    std::uint64_t seed = 100;
    CaseShare share(1, 3);
    for (const int ranks : all_ranks)
      for (const ExactData& data : exact_data())
        for (const bool mean : {false, true}) {
          const ExactProblem problem{GetParam(), ranks, 2085, mean, ++seed};
          if (share.skips_this()) continue;
          SCOPED_TRACE(std::string(data.name) + " " + problem.name());
          const std::vector<Bytes> inputs = data.make(problem);
          check(problem, inputs, mpfr_sums(problem.type, inputs, problem.divisor()));
          if (HasFatalFailure()) return;
        }
  }
};

INSTANTIATE_TEST_SUITE_P(Types, ExactRounding, testing::ValuesIn(all_element_types),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(ExactRounding, SumsOfAnyForm) {
  std::size_t wide_minis = 0, minis = 0;
  for_each_problem(
      [&](const ExactProblem& problem, const std::vector<Bytes>& inputs, const Bytes& expected) {
        ExactSums sums(exact_reference(), problem, inputs);
        Bytes narrow = sums.summed(sums.all_encoded(sums.narrow()));
        Bytes wide = sums.decoded(sums.added(sums.all_encoded(sums.wide())));
        wide_minis += sums.put_wide(narrow);
        sums.put_wide(wide);
        minis += (problem.count + 15) / 16;
        ASSERT_TRUE(right(problem, inputs, narrow, expected)) << "narrow contributions";
        ASSERT_TRUE(right(problem, inputs, wide, expected)) << "words that were added";
      });
  // Both ways are taken often enough to say something.
  EXPECT_GT(wide_minis, minis / 20);
  EXPECT_LT(wide_minis, minis / 2);
}

TEST_P(ExactRounding, ShortVectors) {
  for_each_problem(
      [](const ExactProblem& problem, const std::vector<Bytes>& inputs, const Bytes& expected) {
        ExactProblem part = problem;
        part.count = 300;
        std::vector<Bytes> heads;
        for (const Bytes& input : inputs)
          heads.emplace_back(input.begin(),
                             input.begin() + std::ptrdiff_t(part.count * size_of(part.type)));
        ASSERT_TRUE(
            right(part, heads, ExactSums(exact_reference(), part, heads).short_sums(), expected));
      });
}

/// So that it may stand for MPFR where there are too many sums: of all sets, and of a million
/// elements over the whole range of exponents.
TEST_P(ExactRounding, SuperaccumulatorIsRight) {
  for_each_problem(
      [](const ExactProblem& problem, const std::vector<Bytes>& inputs, const Bytes& expected) {
        ASSERT_TRUE(right(problem, inputs,
                          accumulated_sums(problem.type, inputs, problem.divisor()), expected));
      });
  constexpr std::size_t count = 4096, elements = sanitized ? 40000 : 250000;
  for (std::uint64_t seed = 0; seed * count < elements; ++seed) {
    const ExactProblem problem{GetParam(), all_ranks[seed % std::size(all_ranks)], count,
                               seed / 2 % 2 == 0, seed};
    SCOPED_TRACE("random " + problem.name());
    const auto inputs = random_exact_vectors(problem);
    ASSERT_TRUE(right(problem, inputs, accumulated_sums(problem.type, inputs, problem.divisor()),
                      mpfr_sums(problem.type, inputs, problem.divisor())));
  }
}

/// More ranks than threads could be: all but one have the same elements.
TEST_P(ExactRounding, ManyContributions) {
  const ElementType type = GetParam();
  MpfrSum sum;
  for (const int ranks : {64, 1000, 4095, 65535, 65536})
    for (const ExactData& data : exact_data())
      for (const bool mean : {false, true}) {
        const ExactProblem two{type, 2, 1040, mean, std::uint64_t(ranks)};
        const auto inputs = data.make(two);
        ExactProblem problem = two;
        problem.ranks = ranks;
        SCOPED_TRACE(std::string(data.name) + " " + problem.name());
        std::vector<double> expected;
        const auto first = to_values(type, inputs[0]), second = to_values(type, inputs[1]);
        for (std::size_t i = 0; i < problem.count; ++i) {
          sum.clear();
          sum.add(first[i], static_cast<unsigned long>(ranks) - 1);
          sum.add(second[i]);
          expected.push_back(sum.rounded(type, problem.divisor()));
        }
        ExactSums sums(exact_reference(), problem, inputs);
        Bytes found = sums.decoded(sums.added(sums.all_encoded(sums.wide())));
        sums.put_wide(found);
        ASSERT_TRUE(right(problem, inputs, found, to_bytes(type, expected)));
        if (ranks > 1000) continue;
        std::vector<Words> narrow(std::size_t(ranks), sums.encoded(0, sums.narrow()));
        narrow.back() = sums.encoded(1, sums.narrow());
        found = sums.summed(narrow);
        sums.put_wide(found);
        ASSERT_TRUE(right(problem, inputs, found, to_bytes(type, expected))) << "narrow";
      }
}

// ---- the reference itself: answers that are known without it

double mpfr_of(std::initializer_list<double> values, ElementType type, unsigned long divisor = 1) {
  MpfrSum sum;
  for (const double value : values) sum.add(value);
  const double found = sum.rounded(type, divisor);
  Superaccumulator other;
  for (const double value : values) other.add(value);
  const double same = other.rounded(type, divisor);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(same))
      << found << " and " << same;
  return found;
}

TEST(MpfrReference, SumsThatAreKnown) {
  using enum ElementType;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(mpfr_of({1e30, 1e-30, -1e30}, f64), 1e-30);
  EXPECT_EQ(mpfr_of({0x1p1023, 0x1p1023, 0x1p-1074, -0x1p1023, -0x1p1023}, f64), 0x1p-1074);
  // Ties to even, and not where a little is beside them.
  EXPECT_EQ(mpfr_of({1, 0x1p-24}, f32), 1);
  EXPECT_EQ(mpfr_of({1, 0x1p-24, 0x1p-100}, f32), 1 + 0x1p-23);
  EXPECT_EQ(mpfr_of({1, 0x3p-24}, f32), 1 + 0x1p-22);
  EXPECT_EQ(mpfr_of({1, 0x3p-24, -0x1p-100}, f32), 1 + 0x1p-23);
  EXPECT_EQ(mpfr_of({1, 0x1p-8, 0x1p-40}, bf16), 1 + 0x1p-7);
  // Denormals are rounded at the least one.
  EXPECT_EQ(mpfr_of({0x1p-1074}, f64, 2), 0);
  EXPECT_EQ(mpfr_of({0x3p-1074}, f64, 2), 0x1p-1073);
  EXPECT_EQ(mpfr_of({0x1p-24, 0x1p-24}, f16, 3), 0x1p-24);
  EXPECT_EQ(mpfr_of({0x1p-149, 0x1p-149, 0x1p-149, 0}, f32, 4), 0x1p-149);
  EXPECT_EQ(mpfr_of({0x1.fffffcp-127, 0x1p-149, 0}, f32, 1), 0x1p-126);
  EXPECT_TRUE(std::signbit(mpfr_of({-0x1p-24, 0}, f16, 2)));
  // A tie with what no number is.
  EXPECT_EQ(mpfr_of({65504, 16}, f16), infinity);
  EXPECT_EQ(mpfr_of({65504, 16, -0x1p-24}, f16), 65504);
  EXPECT_EQ(mpfr_of({-65504, -65504, -65504}, f16), -infinity);
  EXPECT_EQ(mpfr_of({-65504, -65504, -65504}, f16, 3), -65504);
  // What is no number, and zeros.
  EXPECT_TRUE(std::isnan(mpfr_of({infinity, -infinity}, f32)));
  EXPECT_EQ(mpfr_of({infinity, 1}, f32), infinity);
  EXPECT_TRUE(std::signbit(mpfr_of({-0.0, -0.0}, f32)));
  EXPECT_FALSE(std::signbit(mpfr_of({-0.0, 0.0}, f32)));
  EXPECT_FALSE(std::signbit(mpfr_of({1, -1}, f32)));
}

}  // namespace
}  // namespace cohom::test
