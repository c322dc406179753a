// packed: the error is that of its step, and the bound holds on every element of the sum.

#include "kernels/table/kernel_table.hpp"
#include "packed_vectors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

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
            // The last two are outliers, with all around them: in some mini-blocks only.
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
          // Outliers are added as floats, in rank order: its error is IEEE's.
          const double half_ulps = ranks * magnitude * 0x1p-24;
          ASSERT_LE(std::abs(static_cast<long double>(sum[i]) - exact), bound + half_ulps)
              << ranks << " ranks, " << predict << ", bound " << bound << ", element " << i;
        }
      }
}

/// What shares a mini-block (or with differences a group) with a value out of range is added as it
/// is, and must not lose more to the rounding of partial sums.
TEST(PackedError, StaysBelowTheBoundBesideOutliers) {
  constexpr std::size_t count = 2048;
  for (const char* predict : {"none", "delta"}) {
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> uniform(-6000, 6000);
    Vectors vectors(4, std::vector<double>(count));
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t rank = 0; rank < 3; ++rank) vectors[rank][i] = uniform(engine);
      vectors[3][i] = -(vectors[0][i] + vectors[1][i] + vectors[2][i]);  // nearly cancels
    }
    vectors[2][40] = 1e9;
    CodecHarness harness = harness_of(4, {{"abs_error", "1e-4"}, {"predict", predict}});
    expect_bounded(vectors, harness.allreduce(vectors), 1e-4, predict);
  }
}

/// Steps at the ends of a type's range are numbers, and so are results.
TEST(PackedError, OfTheLargestAndSmallestNumbers) {
  struct Extreme {
    ElementType type;
    double value;
  };
  const Extreme extremes[] = {{ElementType::f32, 3e38},    {ElementType::bf16, 3e38},
                              {ElementType::f64, 1.7e308}, {ElementType::f64, 1e-315},
                              {ElementType::f64, 1e-320},  {ElementType::f32, 1e-44}};
  for (const Extreme& extreme : extremes)
    for (const Parameters& parameters :
         {Parameters{{"bits", "2"}, {"budget", "max"}}, Parameters{{"bits", "2"}},
          Parameters{{"bits", "2"}, {"down_shift", "8"}}, Parameters{{"rel_error", "0.6"}}})
      for (const int ranks : {1, 2}) {
        Vectors vectors(std::size_t(ranks), std::vector<double>(20000));
        for (std::size_t rank = 0; rank < vectors.size(); ++rank)
          for (std::size_t i = 0; i < 20000; ++i)
            vectors[rank][i] = (i + rank) % 2 == 0 ? extreme.value : -extreme.value;
        CodecHarness harness = harness_of(ranks, parameters, extreme.type);
        const auto sum = harness.allreduce(vectors);
        const double bound = parameters.contains("rel_error") ? 0.61 : 2 * ranks;
        for (std::size_t i = 0; i < sum.size(); ++i) {
          const double exact = ranks == 1 ? vectors[0][i] : 0;
          ASSERT_LE(std::abs(sum[i] / 4 - exact / 4), bound * extreme.value / 4)
              << name_of(extreme.type) << " " << extreme.value << " " << ranks << " " << i;
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
      std::vector<kernels::ConstPackedPayload> sources;
      std::vector<bool> out_of_range(count / kernels::packed_mini);
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<float> input(count);
        for (std::size_t i = 0; i < count; ++i) {
          // Values beyond the range in a few mini-blocks only, or everything would be an outlier.
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
      std::vector<std::uint32_t> outliers(groups);
      ASSERT_TRUE(kernels.decode(run, sum, step, true, 1, outliers.data(), output.data()));
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t mini = i / kernels::packed_mini;
        const bool is_outlier = (outliers[mini / 32] >> (mini % 32) & 1) != 0;
        ASSERT_TRUE(is_outlier || !out_of_range[mini]) << "out of range and kept";
        if (is_outlier) continue;
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
  EXPECT_GT(kept, all / 2) << "nearly everything is an outlier";
}

TEST(PackedError, RelativeIsAFractionOfTheLargest) {
  constexpr std::size_t count = 5000;
  Vectors vectors = vectors_of(Shape::normal, 3, count);
  vectors[1][77] = -1000;
  vectors[2][78] = std::numeric_limits<double>::infinity();  // does not count
  CodecHarness harness = harness_of(3, {{"rel_error", "0.001"}});
  auto sum = harness.allreduce(vectors);
  for (std::size_t i = 64; i < 96; ++i) sum[i] = 0;  // the outlier mini-block
  for (auto& vector : vectors)
    for (std::size_t i = 64; i < 96; ++i) vector[i] = 0;
  expect_bounded(vectors, sum, 1, "rel_error");
}

}  // namespace
}  // namespace cohom::test
