// packed: what its parameters promise. The budget is met, the error bound holds on every element, sums
// are exact integers whatever the order, and nothing overflows.

#include "codecs/packed.hpp"

#include "codec_harness.hpp"
#include "kernels/kernel_table.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Vectors = std::vector<std::vector<double>>;

CodecHarness harness_of(int ranks, Parameters parameters, ElementType type = ElementType::f32) {
  return CodecHarness({.make = make_packed,
                       .ranks = ranks,
                       .type = type,
                       .parameters = std::move(parameters),
                       .segment = 16384});
}

/// Bits a value that direct sends: the average of a contribution's and the sum's.
double bits_of(const CodecHarness& harness, int ranks, std::size_t count) {
  const int payload = harness.codec(0).payload_round();
  double words = 0;
  for (int rank = 0; rank < ranks; ++rank)
    words += double(harness.contribution(payload, rank).size());
  return 32 * (words / ranks + double(harness.sum(payload).size())) / double(count);
}

/// Bits a value of the ranks' contributions.
std::vector<double> bits_of_ranks(const CodecHarness& harness, int ranks, std::size_t count) {
  std::vector<double> bits;
  for (int rank = 0; rank < ranks; ++rank)
    bits.push_back(64.0 *
                   double(harness.contribution(harness.codec(0).payload_round(), rank).size()) /
                   double(count));
  return bits;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / double(values.size());
}

enum class Shape { normal, lognormal_scales, heavy_tails, mostly_zero };

Vectors vectors_of(Shape shape, int ranks, std::size_t count) {
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank) {
    std::mt19937_64 engine(std::uint64_t(rank) * 7 + std::uint64_t(shape));
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    double scale = 1 + rank % 2;  // ranks differ
    for (std::size_t i = 0; i < count; ++i) {
      if (shape == Shape::lognormal_scales && i % 96 == 0) scale = std::exp(2 * normal(engine));
      values[i] = scale * normal(engine);
      if (shape == Shape::heavy_tails) values[i] = std::pow(values[i], 3);
      if (shape == Shape::mostly_zero && (i / 320) % 4 != 0) values[i] = 0;
    }
    vectors.push_back(std::move(values));
  }
  return vectors;
}

/// The contributions' part of the budget is always met; the sum's as far as sums grow like those of
/// uncorrelated vectors of one scale. Where the ranks' scales differ block by block, sums are wider.
TEST(PackedBudget, IsMetOnAverage) {
  constexpr std::size_t count = 1 << 16;
  constexpr int ranks = 4;  // sums are one bit wider
  for (Shape shape :
       {Shape::normal, Shape::lognormal_scales, Shape::heavy_tails, Shape::mostly_zero})
    for (const char* text : {"3", "4", "5", "6.5", "8", "12"})
      for (const char* dither : {"correlated", "nearest"}) {
        CodecHarness harness = harness_of(ranks, {{"bits", text}, {"dither", dither}});
        harness.allreduce(vectors_of(shape, ranks, count));
        const double bits = std::stod(text);
        // Zeros cost nothing: all precision there is may take less than the budget.
        const double most = shape == Shape::mostly_zero ? 6.8 : 100;
        EXPECT_NEAR(mean_of(bits_of_ranks(harness, ranks, count)), std::min(bits - 0.5, most), 0.15)
            << text << " " << dither << " shape " << int(shape);
        const double over = bits_of(harness, ranks, count) - bits;
        if (shape == Shape::normal) EXPECT_NEAR(over, 0, 0.2) << text << " " << dither;
        EXPECT_LT(over, 1.2) << text << " " << dither << " shape " << int(shape);
      }
}

TEST(PackedBudget, IsMetForEveryType) {
  constexpr std::size_t count = 1 << 16;
  for (ElementType type : all_element_types) {
    CodecHarness harness = harness_of(2, {}, type);
    harness.allreduce(vectors_of(Shape::lognormal_scales, 2, count));
    EXPECT_NEAR(mean_of(bits_of_ranks(harness, 2, count)), 4.75, 0.1) << name_of(type);
  }
}

TEST(PackedBudget, OfTheBusiestRankHoldsForEach) {
  constexpr std::size_t count = 1 << 16;
  CodecHarness harness = harness_of(4, {{"budget", "max"}, {"bits", "6"}});
  harness.allreduce(vectors_of(Shape::normal, 4, count));
  const auto bits = bits_of_ranks(harness, 4, count);
  EXPECT_NEAR(std::ranges::max(bits), 6, 0.1);
  EXPECT_LT(std::ranges::min(bits), 5.3) << "the ranks' scales differ by two";
}

/// With a step known the rounding variance is a twelfth of its square, an element and rank.
TEST(PackedError, IsThatOfUniformRounding) {
  constexpr std::size_t count = 1 << 16;
  for (int ranks : {1, 2, 5}) {
    const Vectors vectors = vectors_of(Shape::normal, ranks, count);
    CodecHarness harness = harness_of(ranks, {{"abs_error", "0.05"}});
    const auto sum = harness.allreduce(vectors);
    double error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double exact = 0;
      for (const auto& vector : vectors) exact += static_cast<float>(vector[i]);
      error += (sum[i] - exact) * (sum[i] - exact);
    }
    const double step = 2 * 0.05 / ranks;
    EXPECT_NEAR(error / double(count) / (ranks * step * step / 12), 1, 0.03) << ranks << " ranks";
  }
}

/// abs_error is a bound of the sum's error, not of one rank's, plus half a unit in the last place.
void expect_bounded(const Vectors& vectors, const std::vector<double>& sum, double bound,
                    const std::string& what) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    long double exact = 0;
    for (const auto& vector : vectors) exact += static_cast<float>(vector[i]);
    const auto result = static_cast<float>(sum[i]);
    const float half_ulp =
        (std::nextafter(std::abs(result), std::numeric_limits<float>::infinity()) -
         std::abs(result)) /
        2;
    ASSERT_LE(std::abs(static_cast<long double>(sum[i]) - exact), bound + half_ulp)
        << what << " element " << i;
  }
}

TEST(PackedError, StaysBelowTheBound) {
  constexpr std::size_t count = 20000;
  for (int ranks : {2, 3, 8, 17})
    for (const char* predict : {"none", "delta"})
      for (double bound : {1e-3, 0.3, 1e-30, 1e12}) {
        Vectors vectors = vectors_of(Shape::heavy_tails, ranks, count);
        std::mt19937_64 engine(9);
        for (auto& vector : vectors)
          for (std::size_t i = 0; i < count; i += 7) {
            // Halves of steps, edges of the integers' range, and far beyond.
            const double step = 2 * bound / ranks;
            const double multiples[] = {0.5, 1.5, -0.5, 1e6 + 0.5, double(1 << 28) / ranks, 1e30};
            // The last two escape, with all around them: in some mini-blocks only.
            const std::size_t choices = i % 2048 < 64 ? std::size(multiples) : 4;
            vector[i] = step * multiples[engine() % choices];
            if (std::abs(vector[i]) > 1e37) vector[i] = 1e30;
          }
        // Where all ranks have the same value their errors add up: some come close to the bound.
        for (std::size_t i = 3; i < count; i += 7) {
          const double common = 2 * bound / ranks * double(engine() % (1 << 20)) / 1024;
          for (auto& vector : vectors) vector[i] = common;
        }
        char text[32];
        std::snprintf(text, sizeof text, "%g", bound);
        CodecHarness harness = harness_of(ranks, {{"abs_error", text}, {"predict", predict}});
        const auto sum = harness.allreduce(vectors);
        for (std::size_t i = 0; i < count; ++i) {
          double magnitude = 0;
          long double exact = 0;
          for (const auto& vector : vectors) {
            magnitude += std::abs(vector[i]);
            exact += static_cast<float>(vector[i]);
          }
          // What escapes is added as floats, in rank order: its error is IEEE's.
          const double half_ulps = ranks * magnitude * 0x1p-24;
          ASSERT_LE(std::abs(static_cast<long double>(sum[i]) - exact), bound + half_ulps)
              << ranks << " ranks, " << predict << ", bound " << bound << ", element " << i;
        }
      }
}

/// A value near a multiple of half a step, or anywhere up to the integers' range and beyond.
float adversarial_value(std::uint64_t random, double step, double limit) {
  const auto low = static_cast<double>(random & 0xffffff) - 0x800000;
  const auto part = static_cast<double>(random >> 24 & 0xffff) / 65536;
  switch (random >> 60) {
    case 0: return static_cast<float>(step * (std::floor(low / 64) + 0.5));
    case 1: return static_cast<float>(step * (limit - part));
    case 2: return static_cast<float>(-step * (limit + part));
    case 3: return static_cast<float>(step * limit * 2 * part);
    case 4: return static_cast<float>(low);
    case 5: return std::nextafter(static_cast<float>(step * (low + 0.5)), 0.0f);
    default: return static_cast<float>(step * low * part);
  }
}

/// The kernels alone, on many values: COHOM_SOAK says how many (docs: 1e9).
TEST(PackedError, StaysBelowTheBoundForManyValues) {
  const char* const text = std::getenv("COHOM_SOAK");
  const double wanted = text != nullptr ? std::stod(text) : 4e6;
  const auto& kernels = kernels::kernel_table().packed;
  constexpr std::size_t count = 1 << 14, groups = count / kernels::packed_group;
  const kernels::PackedRun run{ElementType::f32, 0, count};
  std::mt19937_64 engine(42);
  std::size_t kept = 0, all = 0;
  for (const int ranks : {2, 3, 8, 17}) {
    const double limit = std::bit_floor(kernels::packed_range / unsigned(ranks)) - 1;
    for (double values = 0; values < wanted / 4; values += count * ranks) {
      const double bound =
          std::ldexp(1.0 + double(engine() % 1000) / 1000, int(engine() % 40) - 20);
      const double step = 2 * bound / ranks * (1 - 0x1p-20);
      const kernels::PackedQuantizer quantizer{
          .step = step, .in_f64 = true, .limit = limit, .dither = kernels::Dither::nearest};
      all += count;
      std::vector<double> exact(count);
      std::vector<std::vector<std::uint64_t>> payloads;
      std::vector<kernels::PackedWords> sources;
      std::vector<bool> out_of_range(count / kernels::packed_mini);
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<float> input(count);
        for (std::size_t i = 0; i < count; ++i) {
          // Values beyond the range in a few mini-blocks only, or everything would escape.
          const std::uint64_t random = engine();
          input[i] = adversarial_value(random, step, i % 512 < 32 ? limit : limit / 2);
          exact[i] += input[i];
          if (!(std::abs(input[i] / step) <= limit)) out_of_range[i / kernels::packed_mini] = true;
        }
        auto& words = payloads.emplace_back(kernels::packed_capacity(count, false));
        words.resize(kernels.encode(quantizer, run, input.data(), nullptr, words.data()));
      }
      sources.assign(payloads.begin(), payloads.end());
      std::vector<std::uint64_t> sum(kernels::packed_capacity(count, false));
      sum.resize(kernels.merge(groups, sources.data(), sources.size(), sum.data()));
      ASSERT_FALSE(sum.empty());
      std::vector<float> output(count);
      std::vector<std::uint32_t> escaped(groups);
      ASSERT_TRUE(kernels.decode(run, sum, step, true, 1, escaped.data(), output.data()));
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t mini = i / kernels::packed_mini;
        const bool escapes = (escaped[mini / 32] >> (mini % 32) & 1) != 0;
        ASSERT_TRUE(escapes || !out_of_range[mini]) << "out of range and kept";
        if (escapes) continue;
        ++kept;
        const double half_ulp =
            (std::nextafter(std::abs(output[i]), std::numeric_limits<float>::infinity()) -
             std::abs(output[i])) /
            2.0;
        ASSERT_LE(std::abs(output[i] - exact[i]), bound + half_ulp)
            << ranks << " ranks, bound " << bound << ", sum " << exact[i];
      }
    }
  }
  EXPECT_GT(kept, all / 2) << "nearly everything escaped";
}

TEST(PackedError, RelativeIsAFractionOfTheLargest) {
  constexpr std::size_t count = 5000;
  Vectors vectors = vectors_of(Shape::normal, 3, count);
  vectors[1][77] = -1000;
  vectors[2][78] = std::numeric_limits<double>::infinity();  // does not count
  CodecHarness harness = harness_of(3, {{"rel_error", "0.001"}});
  auto sum = harness.allreduce(vectors);
  for (std::size_t i = 64; i < 96; ++i) sum[i] = 0;  // the escaped mini-block
  for (auto& vector : vectors)
    for (std::size_t i = 64; i < 96; ++i) vector[i] = 0;
  expect_bounded(vectors, sum, 1, "rel_error");
}

/// predict=delta changes the words, never the sum.
TEST(PackedDifferences, GiveTheSameSum) {
  const Vectors vectors = vectors_of(Shape::lognormal_scales, 5, 10007);
  CodecHarness plain = harness_of(5, {{"abs_error", "0.001"}});
  CodecHarness differences = harness_of(5, {{"abs_error", "0.001"}, {"predict", "delta"}});
  EXPECT_EQ(differences.allreduce(vectors), plain.allreduce(vectors));
}

TEST(PackedDifferences, PayOnSmoothFields) {
  constexpr std::size_t count = 1 << 16;
  Vectors vectors(2, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    vectors[0][i] = std::sin(1e-3 * double(i));
    vectors[1][i] = std::cos(7e-4 * double(i));
  }
  CodecHarness plain = harness_of(2, {{"abs_error", "1e-4"}});
  CodecHarness differences = harness_of(2, {{"abs_error", "1e-4"}, {"predict", "delta"}});
  plain.allreduce(vectors);
  differences.allreduce(vectors);
  EXPECT_LT(mean_of(bits_of_ranks(differences, 2, count)),
            0.5 * mean_of(bits_of_ranks(plain, 2, count)));
}

TEST(PackedShift, RoundsTheSumToNearestEven) {
  const Vectors vectors = vectors_of(Shape::normal, 4, 5000);
  CodecHarness exact = harness_of(4, {{"down_shift", "0"}, {"bits", "9"}});
  CodecHarness rounded = harness_of(4, {{"down_shift", "2"}, {"bits", "8"}});
  const auto sums = exact.allreduce(vectors);
  const auto shifted = rounded.allreduce(vectors);
  double step = std::numeric_limits<double>::infinity();
  for (double sum : sums)
    if (sum != 0) step = std::min(step, std::abs(sum));  // some sum is one step
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_NEAR(shifted[i], 4 * step * std::nearbyint(std::round(sums[i] / step) / 4), step * 1e-3)
        << i;
}

TEST(PackedOverflow, NeverHappens) {
  constexpr double huge = 1e30, tiny = 1e-30;
  for (const Parameters& parameters :
       {Parameters{}, Parameters{{"bits", "2"}}, Parameters{{"bits", "16"}},
        Parameters{{"abs_error", "1e-30"}}, Parameters{{"rel_error", "0.5"}}})
    for (int ranks : {1, 2, 17}) {
      Vectors vectors(std::size_t(ranks), std::vector<double>(3000));
      for (auto& vector : vectors)
        for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = i % 97 == 0 ? huge : tiny;
      CodecHarness harness = harness_of(ranks, parameters);
      const auto sum = harness.allreduce(vectors);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const double exact = ranks * vectors[0][i];
        ASSERT_NEAR(sum[i], exact, i % 97 == 0 ? 0.6 * exact : huge) << ranks << " element " << i;
      }
    }
}

TEST(PackedOptions, ErrorsNameWhatIsWrong) {
  struct Wrong {
    Parameters parameters;
    std::string words;
  };
  const Wrong cases[] = {
      {{{"bits", "1"}}, "packed: bits=1 is not allowed; allowed: a number from 2 to 16"},
      {{{"bits", "17"}}, "bits=17"},
      {{{"bit", "5"}}, "did you mean bits"},
      {{{"abs_error", "0"}}, "abs_error=0"},
      {{{"abs_error", "-1"}}, "abs_error=-1"},
      {{{"rel_error", "2"}}, "rel_error=2"},
      {{{"abs_error", "0.1"}, {"bits", "5"}}, "bits=5"},
      {{{"abs_error", "0.1"}, {"rel_error", "0.1"}}, "leave it out"},
      {{{"predict", "delta"}}, "differences need abs_error or rel_error"},
      {{{"abs_error", "0.1"}, {"dither", "correlated"}}, "an error bound needs nearest"},
      {{{"abs_error", "0.1"}, {"down_shift", "1"}}, "needs the exact sum"},
      {{{"abs_error", "0.1"}, {"error_feedback", "on"}}, "nothing to feed back"},
      {{{"down_shift", "9"}}, "down_shift=9"},
      {{{"budget", "min"}}, "mean or max"},
  };
  for (const Wrong& wrong : cases) {
    try {
      harness_of(3, wrong.parameters);
      ADD_FAILURE() << "accepted: " << wrong.words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(wrong.words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cohom::test
