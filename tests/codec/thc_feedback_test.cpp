// Error feedback: what a call's rounding loses is added to the next call's vector.

#include "codecs/thc/thc.hpp"

#include "codec_harness.hpp"
#include "thc_oracle.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t elements = 1500;  // five blocks and a ragged one

class Feedback : public testing::TestWithParam<kernels::Isa> {
 protected:
  static CodecHarness harness(ElementType type, Parameters parameters) {
    parameters.emplace("error_feedback", "on");
    return CodecHarness({.make = make_thc,
                         .ranks = ranks,
                         .type = type,
                         .parameters = std::move(parameters),
                         .kernels = &kernels::kernel_table(GetParam())});
  }

  static std::vector<std::vector<double>> inputs_of_step(ElementType type, std::uint64_t step) {
    std::vector<std::vector<double>> inputs;
    for (std::uint64_t rank = 0; rank < ranks; ++rank)
      inputs.push_back(to_values(type, to_bytes(type, normal_values(elements, 100 * step + rank))));
    return inputs;
  }
};

std::string isa_name(const testing::TestParamInfo<kernels::Isa>& instance) {
  return std::string(kernels::name_of(instance.param));
}

INSTANTIATE_TEST_SUITE_P(Isas, Feedback,
                         testing::ValuesIn(kernels::supported_isas().begin(),
                                           kernels::supported_isas().end()),
                         isa_name);

void add(std::vector<double>& sum, std::span<const double> values, double factor = 1) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * values[i];
}

double energy(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum;
}

// After any number of steps, exact sums so far = results so far + what the ranks still owe.
TEST_P(Feedback, NothingIsLost) {
  for (ElementType type : all_element_types)
    for (const char* scale : {"block", "global"})
      for (const char* dither : {"nearest", "correlated"}) {
        auto codecs = harness(type, {{"scale", scale}, {"dither", dither}, {"bits", "4"}});
        const auto state_type = type == ElementType::f64 ? type : ElementType::f32;
        std::vector<double> balance(elements);
        double results = 0;
        for (std::uint64_t step = 0; step < 12; ++step) {
          const auto inputs = inputs_of_step(type, step);
          for (const auto& input : inputs) add(balance, input);
          const auto result = codecs.allreduce(inputs, step);
          add(balance, result, -1);
          results += energy(result);
        }
        double kept = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const auto state = to_values(state_type, codecs.state(rank));
          ASSERT_EQ(state.size(), elements);
          add(balance, state, -1);
          kept += energy(state);
        }
        const double precision = type == ElementType::bf16  ? 1e-5
                                 : type == ElementType::f16 ? 1e-7
                                                            : 1e-12;
        EXPECT_LT(energy(balance) / results, precision) << name_of(type) << scale << dither;
        EXPECT_GT(kept / results, 1e-4);  // or there was nothing to lose
      }
}

TEST_P(Feedback, TheRunningMeanTracksAConstantVector) {
  const auto inputs = inputs_of_step(ElementType::f32, 0);
  auto codecs = harness(ElementType::f32, {});
  std::vector<double> running(elements);
  double first = 0;
  for (std::uint64_t step = 0; step < 30; ++step) {
    const auto result = codecs.allreduce(inputs, step);
    add(running, result);
    if (step == 0) first = vnmse(sum_of(inputs), result);
  }
  for (double& value : running) value /= 30;
  // The error of the mean is what is owed, over 30.
  EXPECT_LT(vnmse(sum_of(inputs), running), first / 300);
}

TEST_P(Feedback, OutliersOweNothing) {
  auto codecs = harness(ElementType::f32, {});
  codecs.allreduce(inputs_of_step(ElementType::f32, 0), 0);
  const auto kept = to_values(ElementType::f32, codecs.state(0));
  ASSERT_NE(kept[300], 0);

  auto inputs = inputs_of_step(ElementType::f32, 1);
  inputs[1][257] = std::numeric_limits<double>::infinity();
  const auto found = codecs.allreduce(inputs, 1);
  EXPECT_TRUE(std::isinf(found[257]));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto state = to_values(ElementType::f32, codecs.state(rank));
    for (std::size_t i = 256; i < 512; ++i) EXPECT_EQ(state[i], 0);
    EXPECT_NE(state[100], 0);
  }
  // What was owed of finite values went with them.
  const auto next = codecs.allreduce(inputs_of_step(ElementType::f32, 2), 2);
  for (double value : next) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(Feedback, OutliersCarryTheFeedback) {
  auto codecs = harness(ElementType::f32, {});
  codecs.allreduce(inputs_of_step(ElementType::f32, 0), 0);
  auto inputs = inputs_of_step(ElementType::f32, 1);
  float expected = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto kept = to_values(ElementType::f32, codecs.state(rank));
    const auto v =
        static_cast<float>(inputs[std::size_t(rank)][300]) + static_cast<float>(kept[300]);
    expected = rank == 0 ? v : expected + v;
  }
  inputs[1][257] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(codecs.allreduce(inputs, 1)[300], expected);
}

TEST_P(Feedback, ZerosOweNothing) {
  auto codecs = harness(ElementType::f32, {});
  const std::vector<std::vector<double>> zeros(ranks, std::vector<double>(elements));
  codecs.allreduce(zeros, 0);
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(codecs.state(rank), Bytes(elements * 4));
}

TEST(FeedbackState, IsFourOrEightBytesAnElement) {
  for (ElementType type : all_element_types) {
    CodecHarness on({.make = make_thc, .type = type, .parameters = {{"error_feedback", "on"}}});
    CodecHarness off({.make = make_thc, .type = type});
    EXPECT_EQ(on.codec(0).state_bytes(1000), type == ElementType::f64 ? 8000u : 4000u);
    EXPECT_EQ(off.codec(0).state_bytes(1000), 0u);
  }
}

}  // namespace
}  // namespace cohom::test
