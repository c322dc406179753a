// NaN, infinities, zeros of both signs, denormals and huge ranges, for every codec and element
// type.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "exact_sums.hpp"
#include "kernels/table/kernel_table.hpp"
#include "loopback_ranks.hpp"
#include "plan/spec.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 4;
constexpr std::size_t count =
    4700;  // blocks of 256 and of 1024, some without specials, and a ragged one
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Vectors = std::vector<std::vector<double>>;  // by rank

Vectors normal_vectors(double scale = 1) {
  Vectors vectors;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    vectors.push_back(normal_values(count, 70 + rank, scale));
  return vectors;
}

/// The first call of a plan; all ranks must get the same bits.
Bytes sum_of(const Vectors& vectors, ElementType type, std::string_view spec,
             std::string_view algorithm) {
  std::vector<Bytes> outputs(vectors.size());
  on_ranks(int(vectors.size()), [&](int rank, Communicator& communicator) {
    const Bytes input = to_bytes(type, vectors[std::size_t(rank)]);
    Bytes& output = outputs[std::size_t(rank)];
    output.resize(input.size());
    AllreducePlan plan(
        communicator, vectors[0].size(), type,
        {.codec = std::string(spec), .algorithm = std::string(algorithm), .segment = 512});
    plan.execute(input.data(), output.data());
  });
  for (const Bytes& output : outputs)
    EXPECT_TRUE(same_bytes(output, outputs[0])) << spec << " " << algorithm << ": ranks differ";
  return outputs[0];
}

std::size_t block_of(std::string_view text, ElementType type) {
  const Spec spec = parse_spec(text);
  const CodecContext context{.ranks = ranks,
                             .type = type,
                             .kernels = kernels::kernel_table(),
                             .parameters = spec.parameters};
  return find_codec(spec.name).make(context)->block();
}

struct Special {
  int rank;
  std::size_t element;
  double value;
};
// In the blocks of 256 number 0, 3, 4, 7 and 10, the ragged one.
const Special specials[] = {
    {1, 17, nan},         {0, 800, infinity}, {2, 800, -infinity}, {3, 801, infinity},
    {0, 1030, -infinity}, {1, 1030, nan},     {2, 1900, -nan},     {0, 2599, -infinity},
};

class SpecialValues : public testing::TestWithParam<ElementType> {
 protected:
  static ElementType type() { return GetParam(); }

  /// Squared error of elements first ... last-1, relative to ranks * (largest energy of a rank).
  static double error(const Vectors& vectors, const std::vector<double>& sum, std::size_t first,
                      std::size_t last, double scale) {
    double error = 0, largest = 0;
    std::vector<double> energy(vectors.size());
    for (std::size_t i = first; i < last; ++i) {
      double exact = 0;
      for (std::size_t rank = 0; rank < vectors.size(); ++rank) {
        const double value = vectors[rank][i] / scale;
        exact += value;
        largest = std::max(largest, energy[rank] += value * value);
      }
      const double difference = sum[i] / scale - exact;
      error += difference * difference;
    }
    return error / (double(vectors.size()) * largest);
  }
};

TEST_P(SpecialValues, OutliersAreExactSumsAndOthersDoNotNotice) {
  const Vectors plain = normal_vectors();
  Vectors spoilt = plain;
  for (const Special& special : specials)
    spoilt[std::size_t(special.rank)][special.element] = special.value;
  const Bytes exact = exact_sums(type(), spoilt);
  const Bytes ieee = sum_of(spoilt, type(), "raw", "direct");
  const std::size_t size = size_of(type());
  CaseShare share(1, 3);
  for (const CodecSpec& codec : specs_for(ranks)) {
    if (adds_floats(codec.spec, type()) || share.skips_this()) continue;
    // What its cells hold is summed exactly, large or small; its own test has NaNs and the rest.
    if (codec.spec.starts_with("sketch")) continue;
    const std::size_t block = codec.outlier_elements != 0 ? codec.outlier_elements
                              : codec.block_scale         ? block_of(codec.spec, type())
                                                          : count;
    std::set<std::size_t> outliers;
    for (const Special& special : specials) outliers.insert(special.element / block);
    Bytes expected = sum_of(codec.shares_step ? spoilt : plain, type(), codec.spec, "direct");
    // This marsit sends elements as they are in every call, and adds them as raw does.
    const Bytes& added = codec.spec.starts_with("marsit:period=1") ? ieee : exact;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (outliers.contains(i / size / block)) expected[i] = added[i];
    for (const AlgorithmRow& algorithm : algorithms_for(codec.spec))
      EXPECT_TRUE(same_bytes(sum_of(spoilt, type(), codec.spec, algorithm.name), expected))
          << codec.spec << " " << algorithm.name;
  }
}

/// What the oracle says of the special elements themselves, and by any algorithm.
TEST_P(SpecialValues, RawAddsThemAsIeeeDoes) {
  Vectors vectors = normal_vectors();
  for (const Special& special : specials)
    vectors[std::size_t(special.rank)][special.element] = special.value;
  const Bytes canonical = to_bytes(type(), std::vector{nan});
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    const Bytes sum = sum_of(vectors, type(), "raw", algorithm.name);
    const auto values = to_values(type(), sum);
    EXPECT_EQ(values[801], infinity);
    EXPECT_EQ(values[2599], -infinity);
    for (std::size_t element : {17, 800, 1030, 1900}) {
      const std::span<const std::byte> all(sum);
      EXPECT_TRUE(same_bytes(all.subspan(element * size_of(type()), size_of(type())), canonical))
          << algorithm.name << " element " << element;
    }
    EXPECT_TRUE(std::isfinite(values[18]));
  }
}

/// Zeros of either sign: IEEE keeps -0 only when all are; codecs of blocks write +0.
TEST_P(SpecialValues, ZerosAreExact) {
  const Bytes zeros(count * size_of(type()));
  const Bytes negative = to_bytes(type(), std::vector<double>(count, -0.0));
  const Vectors all_negative(ranks, std::vector<double>(count, -0.0));
  Vectors mixed = all_negative;
  mixed[2].assign(count, 0.0);
  for (const CodecSpec& codec : specs_for(ranks))
    for (const AlgorithmRow& algorithm : algorithms_for(codec.spec)) {
      // A sketch has no cells for the sign of zero.
      const bool floats =
          codec.rounds_once || (adds_floats(codec.spec, type()) && !codec.leaves_out &&
                                !codec.spec.starts_with("sketch"));
      EXPECT_TRUE(same_bytes(sum_of(all_negative, type(), codec.spec, algorithm.name),
                             floats ? negative : zeros))
          << codec.spec << " " << algorithm.name;
      EXPECT_TRUE(same_bytes(sum_of(mixed, type(), codec.spec, algorithm.name), zeros))
          << codec.spec << " " << algorithm.name;
    }
}

/// A zero block beside others, and a rank of zeros.
TEST_P(SpecialValues, ZeroBlocksStayZero) {
  Vectors vectors = normal_vectors();
  for (auto& vector : vectors) std::fill(vector.begin() + 1024, vector.begin() + 2048, 0.0);
  vectors[1].assign(count, 0.0);
  for (const CodecSpec& codec : specs_for(ranks)) {
    if (!codec.block_scale) continue;
    const auto sum = to_values(type(), sum_of(vectors, type(), codec.spec, "ring"));
    for (std::size_t i = 1024; i < 2048; ++i)
      ASSERT_EQ(sum[i], 0) << codec.spec << " element " << i;
  }
}

TEST_P(SpecialValues, DenormalsAndHugeValuesAreValuesLikeOthers) {
  const bool half = type() == ElementType::f16, twice = type() == ElementType::f64;
  const double small = half ? 1e-5 : twice ? 1e-310 : type() == ElementType::f32 ? 1e-41 : 1e-39;
  const double large = half ? 3e3 : twice ? 1e306 : 1e37;
  for (double scale : {small, large})
    for (const CodecSpec& codec : specs_for(ranks)) {
      if (codec.absolute) continue;
      const Vectors vectors = normal_vectors(scale);
      const auto sum = to_values(type(), sum_of(vectors, type(), codec.spec, "direct"));
      // Rounding inputs and sum to the type's steps is not the codec's error.
      EXPECT_LE(error(vectors, sum, 0, count, scale), codec.error(ranks) + 0.004)
          << codec.spec << " at " << scale;
    }
}

/// Each block has its own scale, however far apart they are; one scale for all loses small blocks,
/// but is no worse as a whole.
TEST_P(SpecialValues, TinyBesideHuge) {
  const bool half = type() == ElementType::f16;
  const double small = half ? 1e-3 : 1e-30, large = half ? 1e3 : 1e30;
  for (const CodecSpec& codec : specs_for(ranks)) {
    const std::size_t block = codec.block_scale ? block_of(codec.spec, type()) : 256;
    Vectors vectors = normal_vectors();
    for (auto& vector : vectors)
      for (std::size_t i = 0; i < count; ++i) vector[i] *= i / block % 2 == 0 ? large : small;
    const auto sum = to_values(type(), sum_of(vectors, type(), codec.spec, "tree"));
    for (double value : sum) ASSERT_TRUE(std::isfinite(value)) << codec.spec;
    if (!codec.block_scale || codec.absolute) continue;
    for (std::size_t first = 0; first + block <= count; first += block)
      ASSERT_LE(error(vectors, sum, first, first + block, first / block % 2 == 0 ? large : small),
                4 * codec.error(ranks) + 0.001)
          << codec.spec << " block at " << first;
  }
}

/// In one block the huge values decide the scale: the tiny ones drown, and nothing overflows.
TEST_P(SpecialValues, TinyAndHugeInOneBlock) {
  const bool half = type() == ElementType::f16;
  Vectors vectors = normal_vectors(half ? 1e-3 : 1e-30);
  for (auto& vector : vectors)
    for (std::size_t i = 0; i < count; i += 100) vector[i] = half ? 1e3 : 1e30;
  const double scale = half ? 1e3 : 1e30;
  for (const CodecSpec& codec : specs_for(ranks)) {
    const auto sum = to_values(type(), sum_of(vectors, type(), codec.spec, "ring"));
    for (double value : sum) ASSERT_TRUE(std::isfinite(value)) << codec.spec;
    // Signs say nothing of the huge values, which are alike on all ranks, and those that leave out
    // may leave them out.
    const double bound = codec.signs || codec.leaves_out        ? ranks + 0.5
                         : codec.block_scale && !codec.absolute ? 4 * codec.error(ranks) + 0.001
                                                                : 1.5;
    EXPECT_LE(error(vectors, sum, 0, count, scale), bound) << codec.spec;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SpecialValues, testing::ValuesIn(tested_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// Ranks of zeros meet ties in every coefficient. Were they all rounded up, their sum would be a
/// spike.
TEST(RanksOfZeros, AddLittleErrorToNearestRounding) {
  Vectors vectors(ranks, std::vector<double>(count, 0.0));
  vectors[0] = normal_values(count, 70, 1);
  for (const char* spec : {"thc:dither=nearest", "thc:error_feedback=on"}) {
    const auto sum = to_values(ElementType::f32, sum_of(vectors, ElementType::f32, spec, "direct"));
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i)
      worst = std::max(worst, std::abs(sum[i] - vectors[0][i]));
    EXPECT_LT(worst, 1.5) << spec;
  }
}

}  // namespace
}  // namespace cohom::test
