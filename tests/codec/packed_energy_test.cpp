// The energy of a sum as packed finds it from its ranks' buckets.

#include "codecs/packed/packed_energy.hpp"
#include "codecs/packed/packed_errors.hpp"
#include "elements.hpp"
#include "kernels/core/body/random.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Words = std::vector<std::uint64_t>;

/// Of one rank, cut into runs of whole groups.
Words words_of(const PackedEnergy& energy, const std::vector<double>& values, int end,
               std::size_t run) {
  const Bytes bytes = to_bytes(ElementType::f64, values);
  auto sums = energy.empty();
  for (std::size_t first = 0; first < values.size(); first += run)
    energy.add(ElementType::f64, bytes.data() + 8 * first, first,
               std::min(run, values.size() - first), end, sums);
  Words words(PackedEnergy::buckets(values.size()));
  energy.write(sums, words);
  return words;
}

double energy_of(const std::vector<double>& values) {
  double energy = 0;
  for (const double value : values) energy += value * value;
  return energy;
}

/// Over many keys: what is seen of the energy, as a share of it.
std::vector<double> shares(const std::vector<double>& values, int end) {
  std::vector<double> all;
  for (std::uint64_t step = 0; step < 40; ++step) {
    const PackedEnergy energy(1, values.size(),
                              kernels::body::key(0, step, kernels::body::Stream::energy, 0));
    all.push_back(energy.at_least(words_of(energy, values, end, 1 << 14)) *
                  std::ldexp(1.0, 2 * end) / energy_of(values));
  }
  return all;
}

void expect_close(const std::vector<double>& values, const char* what) {
  const double margin = PackedEnergy::margin(values.size());
  double mean = 0;
  for (const double share : shares(values, 5)) {
    EXPECT_LE(share, 1) << what;
    EXPECT_GE(share, 0.3) << what;
    mean += share / 40;
  }
  EXPECT_NEAR(mean * (1 + margin), 1, margin / 4) << what;
}

TEST(PackedEnergy, IsFoundWithinItsMargin) {
  constexpr std::size_t count = 100'001;
  expect_close(normal_values(count, 1), "normal");
  std::vector<double> column(count), lone(count), row(count);
  for (std::size_t i = 3; i < count; i += PackedEnergy::buckets(count)) column[i] = 1;
  for (std::size_t i = 5000; i < 9000; ++i) row[i] = 2;
  lone[4711] = 17;
  expect_close(column, "a column as far apart as there are buckets");
  expect_close(row, "a run of equal values");
  for (const double share : shares(lone, 5))
    EXPECT_NEAR(share * (1 + PackedEnergy::margin(count)), 1, 1e-6);
}

TEST(PackedEnergy, IsThatOfTheSum) {
  constexpr std::size_t count = 60'000;
  const PackedEnergy energy(2, count, 7);
  const auto here = normal_values(count, 1);
  auto there = here;
  for (double& value : there) value *= -0.9;
  Words sum = words_of(energy, here, 4, count);
  const Words other = words_of(energy, there, 4, count);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  energy.check(sum);
  const double found = energy.at_least(sum) * 256 / energy_of(here);
  EXPECT_NEAR(found, 0.01, 0.006);
  EXPECT_LT(found, 0.01);
}

/// Element by element, as docs/wire-format.md has it.
TEST(PackedEnergy, IsWhatTheWireFormatSays) {
  using namespace kernels::body;
  constexpr std::size_t count = 140'001;
  constexpr int end = 4, precision = 24;
  const auto values = normal_values(count, 5);
  const std::size_t width = PackedEnergy::buckets(count);
  ASSERT_EQ(width, 128u);
  Words expected(width);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t of_run = frame(9, i / width);
    const std::size_t begin = std::uint64_t{draw(of_run, 0)} * width >> 32, within = i % width;
    const auto whole =
        static_cast<std::int64_t>(std::nearbyint(std::ldexp(values[i], precision - end)));
    const bool negative = (draw(of_run, std::uint32_t(1 + within / 32)) >> (within % 32) & 1) != 0;
    expected[(begin + within) % width] += static_cast<std::uint64_t>(negative ? -whole : whole);
  }
  const PackedEnergy energy(4, count, 9);
  EXPECT_EQ(words_of(energy, values, end, 4096), expected);
  EXPECT_EQ(PackedEnergy::buckets(3000), 64u);
  EXPECT_EQ(PackedEnergy::buckets(std::size_t{1} << 40), 1024u);
}

/// Sums are whole numbers: how a vector is cut changes no bit.
TEST(PackedEnergy, DoesNotDependOnPieces) {
  const auto values = normal_values(50'000, 3);
  const PackedEnergy energy(3, values.size(), 11);
  const Words expected = words_of(energy, values, 4, values.size());
  for (const std::size_t run : {1024, 3072, 16384})
    EXPECT_EQ(words_of(energy, values, 4, run), expected) << run;
}

TEST(PackedEnergy, RefusesWhatRanksCannotHaveSent) {
  constexpr std::size_t count = 60'000;
  const PackedEnergy energy(2, count, 7);
  Words sum(PackedEnergy::buckets(count));
  energy.check(sum);
  sum[3] = std::uint64_t{1} << 62;
  try {
    energy.check(sum);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::transport);
    EXPECT_NE(std::string(error.what()).find("round \"energy\""), std::string::npos);
  }
}

/// Whatever the numbers, finer steps err less, and the step found is the last that is allowed.
TEST(PackedErrors, GrowWithTheStep) {
  PackedHistogram histogram{.top = 600};
  for (std::size_t i = 1; i < PackedHistogram::window; ++i)
    histogram.counts[i] = static_cast<std::uint32_t>(i * 37 % 11);
  for (const unsigned shift : {0u, 2u}) {
    PackedOptions options{.target = PackedTarget::squared_error, .down_shift = shift};
    const PackedErrors errors(ElementType::f32, histogram, 700, 0, options, 8, 1 << 26);
    double before = -1;
    for (std::int32_t code = 32 * (errors.end() - 40); code < 32 * errors.end(); ++code) {
      const double error = errors.squared_error({code});
      EXPECT_GE(error, before * (1 - 1e-12)) << code;
      before = error;
      EXPECT_GE(errors.step_for(error * (1 + 1e-9)).code, code);
      EXPECT_LE(errors.squared_error(errors.step_for(error)), error);
    }
  }
}

}  // namespace
}  // namespace cohom::test
