#include "codecs/exact/exact_accumulator.hpp"

#include "codecs/common/long_accumulator.hpp"
#include "elements.hpp"
#include "kernels/table/kernel_table.hpp"
#include "tested_tables.hpp"

#include <gtest/gtest.h>

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
  [[nodiscard]] ExactTotal total(std::size_t element) const { return added_.total(element); }
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
  Sums sums(2);
  sums.add({0x1.8p10, -1});
  sums.add({0x1p-1074, 0.5});
  EXPECT_EQ(sums.total(0).high(), 1074 + 11);
  EXPECT_EQ(sums.total(0).low(), 0);
  EXPECT_EQ(sums.total(1).high(), 1074);  // -0.5
  EXPECT_EQ(sums.total(1).low(), 1073);
  sums.add({-0x1.8p10, 0.5});
  EXPECT_EQ(sums.total(0).high(), 1);
  EXPECT_EQ(sums.total(1).high(), 0) << "what cancels";
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
    EXPECT_EQ(settled.total(e).high(), waiting.total(e).high());
  }
}

/// Only these have no place in the header of finite mini-blocks.
TEST(ExactAccumulator, SumsBeyondTheLargestNumberAreNotFinite) {
  constexpr double largest = std::numeric_limits<double>::max();
  Sums sums(2, few);
  for (int i = 0; i < 5000; ++i) {
    sums.add({largest, -largest});
    ASSERT_EQ(sums.total(0).finite, i == 0);
    ASSERT_EQ(sums.total(1).finite, i == 0);
  }
  for (int i = 0; i < 4999; ++i) sums.add({-largest, largest});
  EXPECT_TRUE(sums.total(0).finite && sums.total(1).finite);
  EXPECT_EQ(sums.value(0, 2045 - 53), largest);
  EXPECT_EQ(sums.value(1, 2045 - 53), -largest);
}

TEST(ExactAccumulator, SeesWhatIsNoNumber) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Sums sums(6);
  for (std::size_t e = 0; e < 6; ++e) EXPECT_TRUE(sums.total(e).minus_zero()) << "no vectors";
  sums.add({nan, infinity, -infinity, -0.0, -0.0, 1});
  sums.add({1, 2, 3, -0.0, 0.0, -1});
  const auto value = [&](std::size_t e) { return sums.added().value(e, 0); };
  EXPECT_TRUE(value(0).nan && !value(0).infinite && !value(0).minus_infinite);
  EXPECT_TRUE(!value(1).nan && value(1).infinite && !value(1).minus_infinite);
  EXPECT_TRUE(!value(2).nan && !value(2).infinite && value(2).minus_infinite);
  for (std::size_t e = 0; e < 6; ++e) {
    EXPECT_EQ(sums.total(e).finite, e >= 3) << e;
    EXPECT_EQ(sums.total(e).minus_zero(), e == 3) << e;
  }
  sums.added().reset();
  EXPECT_EQ(sums.added().vectors(), 0u);
  for (std::size_t e = 0; e < 6; ++e) {
    EXPECT_TRUE(sums.total(e).finite && sums.total(e).minus_zero());
    EXPECT_EQ(sums.total(e).high(), 0);
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

/// Quotients in the middle of two elements, by divisors of means of very many vectors: the sum has
/// more bits than a double.
TEST(ExactKernels, DivideByAnyNumberOfVectors) {
  constexpr std::size_t count = 1024;
  constexpr std::size_t sources = 3;
  const kernels::ExactRun run{ElementType::f32, count};
  std::mt19937_64 engine(7);
  for (const std::uint64_t divisor : {0x7fff'ffffull, 0xffff'ffffull, 0x0400'0001ull, 3ull}) {
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
    for (const TestedTable& tested : tested_tables()) {
      const kernels::ExactKernels& kernels = tested.table->exact;
      if (!kernels::complete(kernels)) continue;
      std::vector<std::uint64_t> header(kernels::exact_header_words(run.type, count));
      std::vector<std::uint64_t> own(header);
      for (const auto& part : parts) {
        kernels.measure(run, part.data(), own.data());
        const void* const both[] = {header.data(), own.data()};
        kernels::kernel_table().merge({MergeKind::max8}, both, 2, 8 * own.size(), header.data());
      }
      const kernels::ExactRoom room{sources, 1};
      std::vector<std::vector<std::uint64_t>> words(
          sources, std::vector<std::uint64_t>(kernels::exact_capacity(room, run.type, count) + 8));
      std::vector<const std::uint64_t*> payloads;
      for (std::size_t p = 0; p < sources; ++p) {
        kernels.encode(run, room, header.data(), parts[p].data(), words[p].data());
        payloads.push_back(words[p].data());
      }
      std::vector<float> found(count);
      kernels.sum(run, room, header.data(), payloads.data(), sources, divisor, found.data());
      EXPECT_EQ(found, right) << tested.name << ", divisor " << divisor;
    }
  }
}

}  // namespace
}  // namespace cohom::test
