#include "kernels/core/body/random.hpp"

#include "philox.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace cohom::kernels::body {
namespace {

constexpr std::size_t positions = std::size_t{1} << 20;
constexpr double five_sigma = 5;

TEST(Random, Mix64IsSplitMix64) {
  const std::uint64_t seed = 1234567;
  EXPECT_EQ(mix64(seed + golden64), 6457827717110365317u);
  EXPECT_EQ(mix64(seed + 2 * golden64), 3203168211198807973u);
  EXPECT_EQ(mix64(seed + 3 * golden64), 9817491932198370423u);
}

TEST(Random, PhiloxIsPhilox) {
  EXPECT_EQ(test::philox({0, 0, 0, 0}, {0, 0}),
            (test::PhiloxCounter{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(test::philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                         {0xa4093822u, 0x299f31d0u}),
            (test::PhiloxCounter{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

TEST(Random, DrawsAreTheDocumentedOnes) {
  const std::uint64_t k = key(5, 7, Stream::dither, 3);
  EXPECT_EQ(k, mix64(mix64(mix64(5 + 0x9e3779b97f4a7c15u) ^ 7) ^ (std::uint64_t{2} << 32 | 3)));
  const std::uint32_t f = frame(k, 11);
  EXPECT_EQ(f, static_cast<std::uint32_t>(mix64(k + 11 * 0x9e3779b97f4a7c15u)));
  EXPECT_EQ(draw(f, 9), mix32(f + 9 * 0x9e3779b9u));
  for (std::uint32_t x = 0; x < 256; ++x) {
    EXPECT_EQ(negated(f, x), (draw(f, x % 16) >> (x / 16)) % 2 == 1);
    const std::uint32_t r = x / 16;
    EXPECT_EQ(dither(f, x), (draw(f, 16 * (r / 4) + x % 16) >> (8 * (r % 4))) % 256);
  }
}

using Draws = std::vector<std::uint8_t>;

Draws dithers(std::uint64_t key) {
  Draws draws(positions);
  for (std::size_t p = 0; p < positions; ++p)
    draws[p] = static_cast<std::uint8_t>(dither(frame(key, p / 256), p % 256));
  return draws;
}

Draws dithers(std::uint32_t seed, std::uint32_t step, std::uint32_t rank) {
  return dithers(key(seed, step, Stream::dither, rank));
}

/// 0 or 255, so that signs go through the tests of dithers.
Draws signs(std::uint64_t key) {
  Draws draws(positions);
  for (std::size_t p = 0; p < positions; ++p)
    draws[p] = negated(frame(key, p / 256), p % 256) ? 255 : 0;
  return draws;
}

Draws philox_bytes(std::uint32_t seed, std::uint32_t step, std::uint32_t rank) {
  Draws draws(positions);
  for (std::uint32_t p = 0; p < positions; p += 16) {
    const auto words = test::philox({p / 16, step, rank, 0}, {seed, 0});
    for (std::uint32_t b = 0; b < 16; ++b)
      draws[p + b] = static_cast<std::uint8_t>(words[b / 4] >> (8 * (b % 4)));
  }
  return draws;
}

/// The mean, in standard deviations of the mean of independent draws.
double mean_deviation(const Draws& draws) {
  double sum = 0;
  double squares = 0;
  for (std::uint8_t draw : draws) {
    sum += draw - 127.5;
    squares += (draw - 127.5) * (draw - 127.5);
  }
  return sum / std::sqrt(squares);
}

/// Correlation of a[p] and b[p + lag], in standard deviations of that of independent draws.
double correlation(const Draws& a, const Draws& b, std::size_t lag) {
  double sum = 0;
  double squares = 0;
  for (std::size_t p = 0; p + lag < positions; ++p) {
    const double product = (a[p] - 127.5) * (b[p + lag] - 127.5);
    sum += product;
    squares += product * product;
  }
  return sum / std::sqrt(squares);
}

/// Chi-square of the 256 values, as a deviation from its mean in standard deviations.
double chi_square_deviation(const Draws& draws) {
  std::vector<double> counts(256);
  for (std::uint8_t draw : draws) counts[draw] += 1;
  const double expected = static_cast<double>(draws.size()) / 256;
  double chi_square = 0;
  for (double count : counts) chi_square += (count - expected) * (count - expected) / expected;
  return (chi_square - 255) / std::sqrt(2 * 255.0);
}

constexpr std::size_t lags[] = {1, 2, 3, 8, 15, 16, 17, 32, 48, 64, 128, 255, 256, 257, 512, 4096};

struct Generator {
  const char* name;
  std::function<Draws(std::uint32_t seed, std::uint32_t step, std::uint32_t rank)> bytes;
};

class Bytes : public testing::TestWithParam<Generator> {};

TEST_P(Bytes, AreUniform) {
  for (std::uint32_t seed : {0u, 1u, 12345u}) {
    const Draws draws = GetParam().bytes(seed, 0, 0);
    EXPECT_LT(std::abs(mean_deviation(draws)), five_sigma) << seed;
    EXPECT_LT(std::abs(chi_square_deviation(draws)), five_sigma) << seed;
  }
}

TEST_P(Bytes, DoNotCorrelateAlongTheVector) {
  const Draws draws = GetParam().bytes(1, 2, 3);
  for (std::size_t lag : lags)
    EXPECT_LT(std::abs(correlation(draws, draws, lag)), five_sigma) << lag;
}

TEST_P(Bytes, DoNotCorrelateBetweenRanksStepsAndSeeds) {
  const Draws draws = GetParam().bytes(1, 2, 3);
  for (std::size_t lag : {0, 1, 16, 256}) {
    for (std::uint32_t rank : {0u, 1u, 2u, 4u, 7u, 64u})
      EXPECT_LT(std::abs(correlation(draws, GetParam().bytes(1, 2, rank), lag)), five_sigma)
          << rank;
    for (std::uint32_t step : {0u, 1u, 3u, 1000u})
      EXPECT_LT(std::abs(correlation(draws, GetParam().bytes(1, step, 3), lag)), five_sigma)
          << step;
    for (std::uint32_t seed : {0u, 2u, 0xffffffffu})
      EXPECT_LT(std::abs(correlation(draws, GetParam().bytes(seed, 2, 3), lag)), five_sigma)
          << seed;
  }
}

TEST_P(Bytes, AreUniformInPairs) {
  // High nibbles of neighbours (along a row, down a column, in the next frame): 256 pairs.
  const Draws draws = GetParam().bytes(9, 9, 0);
  for (std::size_t lag : {1, 16, 64, 256}) {
    Draws pairs;
    for (std::size_t p = 0; p + lag < positions; p += 2 * lag)
      for (std::size_t i = p; i < p + lag && i + lag < positions; ++i)
        pairs.push_back(static_cast<std::uint8_t>((draws[i] & 0xf0) | draws[i + lag] >> 4));
    EXPECT_LT(std::abs(chi_square_deviation(pairs)), five_sigma) << lag;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Bytes,
                         testing::Values(Generator{"Dither",
                                                   [](std::uint32_t seed, std::uint32_t step,
                                                      std::uint32_t rank) {
                                                     return dithers(seed, step, rank);
                                                   }},
                                         Generator{"Philox", philox_bytes}),
                         [](const auto& instance) { return instance.param.name; });

TEST(Random, SignsAreFairAndUncorrelated) {
  const Draws draws = signs(key(1, 2, Stream::signs, 0));
  EXPECT_LT(std::abs(mean_deviation(draws)), five_sigma);
  for (std::size_t lag : lags)
    EXPECT_LT(std::abs(correlation(draws, draws, lag)), five_sigma) << lag;
  const Draws next_step = signs(key(1, 3, Stream::signs, 0));
  EXPECT_LT(std::abs(correlation(draws, next_step, 0)), five_sigma);
  EXPECT_LT(std::abs(correlation(draws, dithers(1, 2, 0), 0)), five_sigma);
}

TEST(Random, PermutationsAreEquallyLikely) {
  const std::uint64_t k = key(1, 2, Stream::permutation, 0);
  for (std::uint32_t units : {1u, 2u, 4u, 6u}) {
    std::vector<double> counts(units);
    for (std::uint64_t q = 0; q < 65536; ++q)
      counts.at(permutation_number(frame(k, q), units)) += 1;
    for (double count : counts) EXPECT_NEAR(count * units / 65536, 1, 0.03 * units);
  }
}

}  // namespace
}  // namespace cohom::kernels::body
