// thc's behaviour on every instruction set: layout, independence of how the work is cut, element
// types, and numbers that are easy to get wrong. Its error is the subject of thc_error_test.cpp.

#include "codecs/thc/thc.hpp"

#include "codec_harness.hpp"
#include "exact_sums.hpp"
#include "thc_oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace cohom::test {
namespace {

constexpr double denormal = 0x1p-149;

class Thc : public testing::TestWithParam<kernels::Isa> {
 protected:
  static HarnessSetup setup(int ranks, Parameters parameters = {},
                            ElementType type = ElementType::f32) {
    return {.make = make_thc,
            .ranks = ranks,
            .type = type,
            .parameters = std::move(parameters),
            .kernels = &kernels::kernel_table(GetParam())};
  }

  static std::vector<std::vector<double>> normals(int ranks, std::size_t count,
                                                  double deviation = 1) {
    std::vector<std::vector<double>> inputs;
    for (int rank = 0; rank < ranks; ++rank)
      inputs.push_back(normal_values(count, 100 + std::uint64_t(rank), deviation));
    return inputs;
  }
};

std::string isa_name(const testing::TestParamInfo<kernels::Isa>& instance) {
  return std::string(kernels::name_of(instance.param));
}

INSTANTIATE_TEST_SUITE_P(Isas, Thc,
                         testing::ValuesIn(kernels::supported_isas().begin(),
                                           kernels::supported_isas().end()),
                         isa_name);

TEST_P(Thc, PromotedContributionsAreTheAddedWideOnes) {
  const Parameters cases[] = {{},
                              {{"bits", "1"}},
                              {{"bits", "2"}},
                              {{"bits", "3"}},
                              {{"bits", "5"}},
                              {{"bits", "6"}},
                              {{"bits", "7"}},
                              {{"bits", "8"}},
                              {{"lane", "12"}},
                              {{"lane", "32"}},
                              {{"rotation", "64"}, {"lane", "9"}},
                              {{"levels", "full"}},
                              {{"levels", "full"}, {"lane", "10"}},
                              {{"levels", "full"}, {"lane", "16"}},
                              {{"levels", "full"}, {"lane", "21"}, {"rotation", "512"}}};
  for (int ranks : {1, 2, 5, 8}) {
    const auto inputs = normals(ranks, 2000);
    for (const Parameters& parameters : cases) {
      HarnessSetup narrow = setup(ranks, parameters);
      HarnessSetup wide = setup(ranks, parameters);
      wide.form = Form::wide;
      CodecHarness a(narrow), b(wide);
      EXPECT_EQ(a.allreduce(inputs), b.allreduce(inputs));
      EXPECT_EQ(a.sum(1), b.sum(1)) << ranks;
    }
  }
}

TEST_P(Thc, ResultDoesNotDependOnHowTheVectorIsCut) {
  for (const char* scale : {"block", "global"})
    for (const char* feedback : {"off", "on"}) {
      const auto inputs = normals(3, 5000);
      HarnessSetup whole = setup(3, {{"scale", scale}, {"error_feedback", feedback}});
      whole.chunks = 1;
      whole.segment = 1 << 20;
      CodecHarness first(whole);
      const auto expected = first.allreduce(inputs);
      const auto expected_next = first.allreduce(inputs, 1);  // with feedback: from its state
      for (std::size_t chunks : {2, 3, 7, 40})
        for (std::size_t segment : {256, 1024}) {
          HarnessSetup cut = whole;
          cut.chunks = chunks;
          cut.segment = segment;
          cut.in_place = segment == 256;
          CodecHarness harness(cut);
          EXPECT_EQ(harness.allreduce(inputs), expected) << scale << chunks << ' ' << segment;
          EXPECT_EQ(harness.allreduce(inputs, 1), expected_next)
              << scale << chunks << ' ' << segment;
        }
    }
}

TEST_P(Thc, RaggedVectorsAndRotations) {
  for (const char* rotation : {"16", "64", "256", "1024", "65536"})
    for (std::size_t count : {1, 2, 15, 16, 17, 63, 64, 100, 255, 256, 257, 511, 1025, 3000}) {
      const auto inputs = normals(2, count);
      CodecHarness harness(
          setup(2, {{"rotation", rotation}, {"levels", "full"}, {"tail", "1e-5"}}));
      const auto found = harness.allreduce(inputs);
      ASSERT_EQ(found.size(), count);
      EXPECT_LT(vnmse(sum_of(inputs), found), 0.01) << rotation << ' ' << count;
    }
}

TEST_P(Thc, AMillionElements) {
  const auto inputs = normals(2, 1000003);
  HarnessSetup large = setup(2);
  large.segment = 65536;
  EXPECT_NEAR(vnmse(sum_of(inputs), CodecHarness(large).allreduce(inputs)), 0.018, 0.002);
}

TEST_P(Thc, ElementTypesDifferOnlyInTheLastRounding) {
  for (ElementType type : {ElementType::f16, ElementType::bf16})
    for (bool mean : {false, true}) {
      std::vector<std::vector<double>> inputs;
      for (const auto& input : normals(3, 2000, 0.01))
        inputs.push_back(to_values(type, to_bytes(type, input)));
      HarnessSetup half = setup(3, {}, type);
      HarnessSetup full = setup(3);
      half.mean = full.mean = mean;
      const auto expected = to_bytes(type, CodecHarness(full).allreduce(inputs));
      EXPECT_EQ(to_bytes(type, CodecHarness(half).allreduce(inputs)), expected);
    }
}

TEST_P(Thc, MeanIsTheSumDividedOnce) {
  for (ElementType type : {ElementType::f32, ElementType::f64}) {
    const auto inputs = normals(7, 2000);
    HarnessSetup mean = setup(7, {}, type);
    mean.mean = true;
    auto expected = CodecHarness(setup(7, {}, type)).allreduce(inputs);
    for (double& value : expected)
      value = type == ElementType::f32 ? static_cast<float>(value) / 7.0f : value / 7.0;
    EXPECT_EQ(CodecHarness(mean).allreduce(inputs), expected);
  }
}

TEST_P(Thc, DoublesKeepTheirRange) {
  for (int shift : {0, -1000, 950, -1060}) {
    auto inputs = normals(2, 3000);
    for (auto& input : inputs)
      for (double& value : input) value = std::ldexp(value, shift);
    const auto found = CodecHarness(setup(2, {}, ElementType::f64)).allreduce(inputs);
    auto exact = sum_of(inputs);
    std::vector<double> scaled = found;
    for (double& value : exact) value = std::ldexp(value, -shift);
    for (double& value : scaled) value = std::ldexp(value, -shift);
    EXPECT_NEAR(vnmse(exact, scaled), 0.018, 0.003) << shift;
  }
}

TEST_P(Thc, StepsAndSeedsDrawAnew) {
  const auto inputs = normals(2, 512);
  CodecHarness harness(setup(2));
  const auto first = harness.allreduce(inputs, 0);
  EXPECT_NE(harness.allreduce(inputs, 1), first);
  EXPECT_EQ(harness.allreduce(inputs, 0), first);
  EXPECT_NE(CodecHarness(setup(2, {{"seed", "1"}})).allreduce(inputs, 0), first);
}

TEST_P(Thc, ZerosGivePositiveZeros) {
  for (ElementType type : all_element_types)
    for (const char* scale : {"block", "global"})
      for (double zero : {0.0, -0.0}) {
        const std::vector<Bytes> inputs(3, to_bytes(type, std::vector<double>(700, zero)));
        CodecHarness harness(setup(3, {{"scale", scale}}, type));
        EXPECT_EQ(harness.allreduce(inputs), Bytes(700 * size_of(type)));
        for (std::uint64_t word : harness.sum(1)) EXPECT_EQ(word, 0u);
      }
}

TEST_P(Thc, AZeroBlockAmongOthersIsExact) {
  auto inputs = normals(2, 1024);
  for (auto& input : inputs) std::fill(input.begin() + 256, input.begin() + 512, -0.0);
  const auto found = CodecHarness(setup(2)).allreduce(inputs);
  for (std::size_t i = 256; i < 512; ++i) EXPECT_EQ(std::signbit(found[i]), false);
  EXPECT_EQ(std::vector<double>(found.begin() + 256, found.begin() + 512),
            std::vector<double>(256));
}

TEST_P(Thc, Denormals) {
  // Integers of a few thousand times the smallest denormal, so that rounding to it hardly shows.
  auto inputs = normals(2, 2000, 5000);
  for (auto& input : inputs)
    for (double& value : input) value = std::round(value) * denormal;
  EXPECT_NEAR(vnmse(sum_of(inputs), CodecHarness(setup(2)).allreduce(inputs)), 0.018, 0.003);
  // The smallest of all: one coefficient of one block.
  const std::vector<std::vector<double>> smallest(2, {denormal});
  EXPECT_EQ(CodecHarness(setup(2)).allreduce(smallest)[0], 2 * denormal);
}

TEST_P(Thc, BlocksOfAnyMagnitudeSideBySide) {
  const double magnitudes[] = {1e30, 1e-30, 1, 1e37, 1e-37, 1e-41};
  auto inputs = normals(2, 6 * 256);
  for (auto& input : inputs)
    for (std::size_t i = 0; i < input.size(); ++i) input[i] *= magnitudes[i / 256];
  const auto exact = sum_of(inputs);
  const auto found = CodecHarness(setup(2)).allreduce(inputs);
  for (std::size_t b = 0; b < 6; ++b)
    EXPECT_LT(vnmse(std::span(exact).subspan(b * 256, 256), std::span(found).subspan(b * 256, 256)),
              0.03)
        << magnitudes[b];
}

TEST_P(Thc, NonFiniteBlocksAreOutliers) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (ElementType type : all_element_types)
    for (bool mean : {false, true})
      for (bool in_place : {false, true}) {
        auto clean = normals(3, 256 * 9 + 5);
        for (auto& input : clean) input = to_values(type, to_bytes(type, input));
        auto inputs = clean;
        inputs[1][300] = -nan;          // block 1
        inputs[0][256 * 7] = infinity;  // block 7: +inf and -inf make a NaN
        inputs[2][256 * 7] = -infinity;
        inputs[2][256 * 7 + 1] = -infinity;
        inputs[0][256 * 9 + 4] = infinity;  // the ragged block
        HarnessSetup call = setup(3, {}, type);
        call.mean = mean;
        call.in_place = in_place;
        call.segment = 512;
        CodecHarness harness(call), undisturbed(call);
        const auto found = harness.allreduce(inputs);
        const auto expected = undisturbed.allreduce(clean);
        const auto exact = to_values(type, exact_sums(type, inputs, mean ? 3 : 1));
        for (std::size_t i = 0; i < found.size(); ++i) {
          const bool outliers = i / 256 == 1 || i / 256 == 7 || i / 256 == 9;
          const double right = outliers ? exact[i] : expected[i];
          if (std::isnan(right))
            EXPECT_TRUE(std::isnan(found[i])) << i;
          else
            EXPECT_EQ(found[i], right) << name_of(type) << ' ' << i;
        }
        EXPECT_EQ(harness.sum(2).size(), (517 * size_of(type) + 7) / 8);
      }
}

TEST_P(Thc, WritesTheCanonicalNan) {
  std::vector<float> values(20, 1.0f);
  values[3] = -std::numeric_limits<float>::quiet_NaN();
  Bytes input(values.size() * 4);
  std::memcpy(input.data(), values.data(), input.size());
  for (int ranks : {1, 2}) {
    const Bytes found =
        CodecHarness(setup(ranks)).allreduce(std::vector<Bytes>(std::size_t(ranks), input));
    std::uint32_t bits = 0;
    std::memcpy(&bits, found.data() + 12, 4);
    EXPECT_EQ(bits, 0x7fc00000u);
  }
}

TEST_P(Thc, WithOneScaleTheWholeVectorIsAnOutlier) {
  auto inputs = normals(2, 1000);
  inputs[1][999] = std::numeric_limits<double>::infinity();
  CodecHarness harness(setup(2, {{"scale", "global"}}));
  EXPECT_EQ(harness.allreduce(inputs),
            to_values(ElementType::f32, exact_sums(ElementType::f32, inputs)));
}

}  // namespace
}  // namespace cohom::test
