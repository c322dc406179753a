#include "codecs/exact/exact_accumulator.hpp"

#include "codecs/common/long_accumulator.hpp"
#include "elements.hpp"
#include "kernels/table/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::uint64_t few = 3;  // vectors whose carries wait

/// A sum of vectors as whole numbers of the least denormal, each a double.
class Sums {
 public:
  explicit Sums(std::size_t count, std::uint64_t waits = ExactAccumulator::max_waiting)
      : added_(count, ElementType::f64, waits) {}

  void add(const std::vector<double>& vector) { added_.add(vector.data()); }

  /// A sum below 2^127 units of 2^`low` least denormals, which it is a multiple of, as its value.
  [[nodiscard]] double value(std::size_t element, int low) const {
    auto integer = added_.total(element).integer(static_cast<unsigned>(low));
    const bool negative = integer.is_negative();
    if (negative) integer.negate();
    const double magnitude =
        std::ldexp(static_cast<double>(integer.high), 64) + static_cast<double>(integer.low);
    return std::ldexp(negative ? -magnitude : magnitude, low - 1074);
  }
  /// Of all elements, at most 16.
  [[nodiscard]] kernels::ExactSpan span() const { return added_.span(0); }
  ExactAccumulator& added() { return added_; }

 private:
  ExactAccumulator added_;
};

TEST(ExactAccumulator, AddsWithoutRounding) {
  Sums sums(3);
  sums.add({1, 1e300, -3});
  sums.add({0x1p-60, 0x1p-1000, -0x1p-50});
  sums.add({-1, -1e300, 3});
  EXPECT_EQ(sums.value(0, 1014), 0x1p-60);
  EXPECT_EQ(sums.value(1, 74), 0x1p-1000);
  EXPECT_EQ(sums.value(2, 1024), -0x1p-50);
  EXPECT_EQ(sums.added().vectors(), 3u);
}

TEST(ExactAccumulator, KnowsTheHighestAndTheLowestBit) {
  Sums sums(3);
  EXPECT_EQ(sums.span().high, 0) << "no vectors";
  sums.add({0, -0x1.8p10, 4});
  EXPECT_EQ(sums.span().high, 1074 + 11);
  EXPECT_EQ(sums.span().low, 1074 + 2);
  sums.add({0, 0, -0x1p-1074});
  EXPECT_EQ(sums.span().high, 1074 + 11);
  EXPECT_EQ(sums.span().low, 0);
  sums.add({0, 0x1.8p10, 0x1p-1074});
  EXPECT_EQ(sums.span().high, 1074 + 3);
  EXPECT_EQ(sums.span().low, 1074 + 2);
  sums.add({0, 0, -4});
  EXPECT_EQ(sums.span().high, 0) << "what cancels";
}

/// Of any exponents, with carries that run through all digits, settled often or never.
TEST(ExactAccumulator, SettlingChangesNothing) {
  std::mt19937_64 engine(1);
  constexpr std::size_t count = 37;
  Sums settled(count, few), waiting(count);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> vector(count);
    for (double& value : vector) {
      const int exponent = static_cast<int>(engine() % 2000) - 1000;
      value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(engine())), exponent - 40);
    }
    if (i % 3 == 1) vector.assign(count, std::numeric_limits<double>::max());
    if (i % 3 == 2) vector.assign(count, -std::numeric_limits<double>::max() / 2);
    settled.add(vector);
    waiting.add(vector);
  }
  for (std::size_t e = 0; e < count; ++e) {
    const auto one = settled.added().value(e, 0), other = waiting.added().value(e, 0);
    for (std::size_t limb = 0; limb < kernels::body::ExactValue::max_limbs; ++limb)
      ASSERT_EQ(one.limbs[limb], other.limbs[limb]) << "element " << e << ", limb " << limb;
  }
  EXPECT_EQ(settled.span().high, waiting.span().high);
  EXPECT_EQ(settled.span().low, waiting.span().low);
}

/// Four digits, of which carries that wait make the highest as long as the integers that few digits
/// are read as.
TEST(ExactAccumulator, LongDigitsAreNotFew) {
  constexpr int low = 63;  // a number that begins in bit 31 of a digit
  constexpr int doublings = 12;
  const double number = std::ldexp(0x1.fffffffffffffp52, low - 1074);
  const double least = std::numeric_limits<double>::denorm_min();
  Sums sums(2);
  sums.add({least, -least});  // takes the digit below
  sums.add({-least, least});
  for (int i = 0; i < 1 << doublings; ++i) sums.add({number, -number});
  EXPECT_EQ(sums.value(0, low), std::ldexp(number, doublings));
  EXPECT_EQ(sums.value(1, low), std::ldexp(-number, doublings));
  EXPECT_EQ(sums.span().high, low + 53 + doublings);
  EXPECT_EQ(sums.span().low, low + doublings);
}

/// Only these have no place in the header of finite mini-blocks.
TEST(ExactAccumulator, SumsBeyondTheLargestNumberAreNotFinite) {
  constexpr double largest = std::numeric_limits<double>::max();
  for (const double sign : {1.0, -1.0}) {
    Sums sums(2, few);
    for (int i = 0; i < 5000; ++i) {
      sums.add({sign * largest, 1});
      ASSERT_EQ(sums.span().finite, i == 0);
    }
    for (int i = 0; i < 4999; ++i) sums.add({-sign * largest, 1});
    EXPECT_TRUE(sums.span().finite);
    EXPECT_EQ(sums.value(0, 2045 - 53), sign * largest);
  }
}

TEST(ExactAccumulator, SeesWhatIsNoNumber) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const struct {
    double first, second;
    bool nan, infinite, minus_infinite, minus_zero;
  } cases[] = {
      {nan, 1, true, false, false, false},       {infinity, 2, false, true, false, false},
      {3, -infinity, false, false, true, false}, {infinity, -infinity, false, true, true, false},
      {-0.0, -0.0, false, false, false, true},   {-0.0, 0.0, false, false, false, false},
      {1, -1, false, false, false, false}};
  for (const auto& one : cases) {
    Sums sums(1);
    EXPECT_TRUE(sums.added().value(0, 0).minus_zero && sums.span().minus_zero) << "no vectors";
    sums.add({one.first});
    sums.add({one.second});
    const auto value = sums.added().value(0, 0);
    EXPECT_EQ(value.nan, one.nan);
    EXPECT_EQ(value.infinite, one.infinite);
    EXPECT_EQ(value.minus_infinite, one.minus_infinite);
    EXPECT_EQ(value.minus_zero, one.minus_zero);
    EXPECT_EQ(sums.span().minus_zero, one.minus_zero);
    EXPECT_EQ(sums.span().finite, !one.nan && !one.infinite && !one.minus_infinite);
    sums.added().reset();
    EXPECT_EQ(sums.added().vectors(), 0u);
    EXPECT_TRUE(sums.span().finite && sums.span().minus_zero);
    EXPECT_EQ(sums.span().high, 0);
  }
}

/// Sums in few digits are shifted; others, and those for the wide fields, are read digit by digit.
TEST(ExactAccumulator, IntegersAndWideValuesAreTheSame) {
  std::mt19937_64 engine(3);
  for (int width = 1; width < 300; ++width) {
    Sums sums(1);
    const int bottom = static_cast<int>(engine() % 900) - 1000;
    for (int i = 0; i < 20; ++i)
      sums.add({std::ldexp(engine() % 2 == 0 ? 1 : -1,
                           bottom + static_cast<int>(engine() % static_cast<unsigned>(width)))});
    const auto span = sums.span();
    if (span.high == 0) continue;
    const auto low = static_cast<unsigned>(span.low);
    for (const unsigned from : {low, low / 2, std::max(low, 40u) - 40}) {
      auto value = sums.added().value(0, from);
      const auto integer = sums.added().total(0).integer(from);
      EXPECT_EQ(value.limbs[0], integer.low) << "width " << width;
      EXPECT_EQ(value.limbs[1], integer.high) << "width " << width;
    }
  }
}

/// What one vector gives is what the kernels give of it.
TEST(ExactAccumulator, OneVectorHasItsOwnHeaderAndPayload) {
  for (const ElementType type : all_element_types) {
    constexpr std::size_t count = 3000;
    auto values = normal_values(count, 5);
    for (std::size_t i = 0; i < count; i += 50) values[i] = i % 100 == 0 ? -0.0 : 1e-3;
    values[1700] = std::numeric_limits<double>::infinity();
    const Bytes bytes = to_bytes(type, values);
    ExactAccumulator added(count, type);
    added.add(bytes.data());
    const kernels::ExactKernels& kernels = kernels::kernel_table().exact;
    const kernels::ExactRun run{type, count};
    std::vector<std::uint64_t> header(kernels::exact_header_words(type, count));
    std::vector<std::uint64_t> own_header(header);
    kernels.measure(run, bytes.data(), header.data());
    added.measure(0, count, own_header.data());
    EXPECT_EQ(own_header, header) << name_of(type);
    for (const std::size_t contributions : {1, 3}) {
      const kernels::ExactRoom room{3, contributions};
      std::vector<std::uint64_t> words(kernels::exact_capacity(room, type, count)), own(words);
      kernels.encode(run, room, header.data(), bytes.data(), words.data());
      added.encode(room, 0, count, header.data(), own.data());
      EXPECT_EQ(own, words) << name_of(type) << ", " << contributions;
    }
  }
}

/// Quotients of f64 that lie above the middle of two numbers by less than the least limb: the
/// remainder alone says that they are no ties. It takes a long divisor.
TEST(ExactKernels, RemaindersBelowTheLimbsCount) {
  constexpr unsigned one = 1074;  // the position of 1.0
  struct Quotient {
    std::uint64_t sum, divisor;
  };
  for (const Quotient& of : {Quotient{1, 4294962326},
                             {1, 4294941094},
                             {5, 4294952394},
                             {1, 1073680793},
                             {7, 1073590865}}) {
    const double right = static_cast<double>(of.sum) / static_cast<double>(of.divisor);
    EXPECT_EQ(kernels::body::exact_quotient<double>({of.sum, 0}, one, of.divisor), right);
    EXPECT_EQ(kernels::body::exact_quotient<double>({-of.sum, ~std::uint64_t{0}}, one, of.divisor),
              -right);
  }
}

/// Vectors that are divided by `divisor` when they have been added, by all kernels.
template <class T>
void expect_quotients(const std::vector<std::vector<T>>& parts, std::uint64_t divisor,
                      const std::vector<T>& right) {
  const std::size_t count = right.size(), sources = parts.size();
  const kernels::ExactRun run{element_type_v<T>, count};
  const MergeKind largest = sizeof(T) == 8 ? MergeKind::max16 : MergeKind::max8;
  for (const TestedTable& tested : tested_tables()) {
    const kernels::ExactKernels& kernels = tested.table->exact;
    if (!kernels::complete(kernels)) continue;
    std::vector<std::uint64_t> header(kernels::exact_header_words(run.type, count));
    std::vector<std::uint64_t> own(header);
    for (const auto& part : parts) {
      kernels.measure(run, part.data(), own.data());
      const void* const both[] = {header.data(), own.data()};
      kernels::kernel_table().merge({largest}, both, 2, 8 * own.size(), header.data());
    }
    const kernels::ExactRoom room{sources, 1};
    std::vector<std::vector<std::uint64_t>> words(
        sources, std::vector<std::uint64_t>(kernels::exact_capacity(room, run.type, count) + 8));
    std::vector<const std::uint64_t*> payloads;
    for (std::size_t p = 0; p < sources; ++p) {
      kernels.encode(run, room, header.data(), parts[p].data(), words[p].data());
      payloads.push_back(words[p].data());
    }
    std::vector<T> found(count);
    kernels.sum(run, room, header.data(), payloads.data(), sources, divisor, found.data());
    EXPECT_EQ(found, right) << tested.name << ", divisor " << divisor;
  }
}

/// Quotients in the middle of two elements, and as near to it as any can be, by divisors of means
/// of very many vectors: the sum has more bits than a double.
TEST(ExactKernels, DivideByAnyNumberOfVectors) {
  constexpr std::size_t count = 1024, sources = 3;
  std::mt19937_64 engine(7);
  for (const std::uint64_t divisor :
       {0x7fff'ffffull, 0xffff'ffffull, 0x0400'0001ull, 0x03ff'ffffull, 0x0200'0001ull, 3ull}) {
    std::vector<std::vector<float>> parts(sources, std::vector<float>(count));
    std::vector<float> right(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t middle = (std::uint64_t{1} << 24) + engine() % (1u << 23) * 2 + 1;
      std::uint64_t rest = middle * divisor + engine() % 3 - 1;
      LongAccumulator sum;
      for (std::size_t p = 0; p < sources; ++p) {
        const std::uint64_t below = (std::uint64_t{1} << 20 * (sources - 1 - p)) - 1;
        parts[p][i] = static_cast<float>(rest & ~below);
        rest -= static_cast<std::uint64_t>(parts[p][i]);
        sum.add(static_cast<double>(parts[p][i]));
      }
      ASSERT_EQ(rest, 0u);
      right[i] = static_cast<float>(sum.rounded(ElementType::f32, divisor));
    }
    expect_quotients(parts, divisor, right);
  }
}

/// Of f64, whose quotients are a number and a rest.
TEST(ExactKernels, DivideSumsOfDoubles) {
  constexpr std::size_t count = 1024, sources = 3;
  std::mt19937_64 engine(8);
  for (const std::uint64_t divisor : {0x0400'0001ull, 0x03ff'ffffull, 0x0200'0001ull, 7ull, 3ull}) {
    std::vector<std::vector<double>> parts(sources, std::vector<double>(count));
    std::vector<double> right(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t middle = (std::uint64_t{1} << 53) + engine() % (1ull << 52) * 2 + 1;
      constexpr int low = 27;
      parts[0][i] = std::ldexp(static_cast<double>((middle >> low) * divisor), low);
      parts[1][i] = static_cast<double>(middle % (1u << low) * divisor);
      parts[2][i] = static_cast<double>(engine() % 3) - 1;
      LongAccumulator sum;
      for (const auto& part : parts) sum.add(part[i]);
      right[i] = sum.rounded(ElementType::f64, divisor);
    }
    expect_quotients(parts, divisor, right);
  }
}

}  // namespace
}  // namespace cohom::test
