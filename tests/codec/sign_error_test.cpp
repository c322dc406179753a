// How far one-bit results are from the mean: against the synthetic model of signs in noise, and
// what feedback, compensation and full-precision calls do about it.

#include "codecs/marsit/marsit.hpp"
#include "codecs/signcount/signcount.hpp"

#include "codec_harness.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cohom::test {
namespace {

using Vectors = std::vector<std::vector<double>>;

/// What all ranks have in common: N(0, 1), or its sign.
enum class Signal { normal, sign };

/// x_i = signal + sigma N(0, 1).
Vectors signal_in_noise(Signal kind, int ranks, std::size_t count, double sigma) {
  const auto signal = normal_values(count, 1);
  Vectors inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(normal_values(count, 100 + std::uint64_t(rank), sigma));
    for (std::size_t i = 0; i < count; ++i)
      inputs.back()[i] += kind == Signal::normal ? signal[i] : std::copysign(1, signal[i]);
  }
  return inputs;
}

std::vector<double> mean_of(const Vectors& inputs) {
  std::vector<double> mean(inputs[0].size());
  for (const auto& input : inputs)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += input[i] / double(inputs.size());
  return mean;
}

/// Of the result times the scalar that suits it best.
double best_error(std::span<const double> exact, std::span<const double> found) {
  double product = 0, own = 0, energy = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    product += exact[i] * found[i];
    own += found[i] * found[i];
    energy += exact[i] * exact[i];
  }
  return 1 - product * product / (own * energy);
}

struct Oracle {
  Signal signal;
  int ranks;
  double sigma;
  double signcount, majority, marsit;
};

/// Closed forms of 1 - E[m y]^2 / (E[m^2] E[y^2]), m the mean. With a normal signal, of which a
/// share r of the variance is common: E[y^2] = 1/n + (1 - 1/n) (2 / pi) asin(r) for counts, and 1
/// for one rank's sign. Majority with a normal signal by simulation in double precision.
TEST(OneShotError, IsThatOfTheModel) {
  for (const Oracle& oracle : {Oracle{Signal::normal, 8, 1, 0.1405, 0.41, 0.642},
                               Oracle{Signal::normal, 64, 4, 0.1086, 0.43, 0.953},
                               Oracle{Signal::sign, 8, 1, 0.0785, 0.127, 0.509}}) {
    const Vectors inputs = signal_in_noise(oracle.signal, oracle.ranks, 60000, oracle.sigma);
    const auto mean = mean_of(inputs);
    const auto error = [&](auto make, Parameters parameters) {
      CodecHarness harness({.make = make,
                            .ranks = oracle.ranks,
                            .parameters = std::move(parameters),
                            .mean = true,
                            .segment = 4096});
      return best_error(mean, harness.allreduce(inputs, 4));
    };
    const double count = error(make_signcount, {{"scale", "global"}});
    const double majority = error(make_signcount, {{"scale", "global"}, {"vote", "majority"}});
    const double marsit = error(make_marsit, {});
    EXPECT_NEAR(count, oracle.signcount, 0.05 * oracle.signcount) << oracle.ranks;
    EXPECT_NEAR(majority, oracle.majority, 0.05 * oracle.majority) << oracle.ranks;
    EXPECT_NEAR(marsit, oracle.marsit, 0.05 * oracle.marsit) << oracle.ranks;
  }
}

/// The mean of many calls on the same vectors.
double running_error(auto make, const Parameters& parameters, int steps) {
  const Vectors inputs = signal_in_noise(Signal::sign, 5, 3000, 1);
  const auto mean = mean_of(inputs);
  CodecHarness harness({.make = make, .ranks = 5, .parameters = parameters, .mean = true});
  std::vector<double> running(mean.size());
  for (int step = 0; step < steps; ++step) {
    const auto result = harness.allreduce(inputs, std::uint64_t(step));
    for (std::size_t i = 0; i < mean.size(); ++i) running[i] += result[i] / steps;
  }
  return vnmse(mean, running);
}

TEST(Feedback, MakesTheErrorOfManyCallsVanish) {
  EXPECT_LT(running_error(make_signcount, {{"error_feedback", "on"}}, 60), 0.01);
  EXPECT_GT(running_error(make_signcount, {}, 60), 0.1);
}

/// The calls' results add up to the vectors' means but for what is left over, and a full-precision
/// call leaves nothing.
TEST(Compensation, LeavesNothingAfterAFullPrecisionCall) {
  EXPECT_LT(running_error(make_marsit, {{"compensation", "on"}}, 60), 1e-10);
  EXPECT_GT(running_error(make_marsit, {{"compensation", "on"}}, 59), 1e-6);
  EXPECT_GT(running_error(make_marsit, {}, 60), 0.01);
}

TEST(FullPrecision, IsEveryPeriodthCall) {
  const Vectors inputs = signal_in_noise(Signal::sign, 3, 3000, 1);
  const auto mean = mean_of(inputs);
  CodecHarness harness(
      {.make = make_marsit, .ranks = 3, .parameters = {{"period", "4"}}, .mean = true});
  for (std::uint64_t step = 0; step < 9; ++step) {
    const double error = vnmse(mean, harness.allreduce(inputs, step));
    if (step % 4 == 3)
      EXPECT_LT(error, 1e-12) << "step " << step;
    else
      EXPECT_GT(error, 0.1) << "step " << step;
  }
}

/// Elements that are zero everywhere: with an even number of ranks votes cancel, and else they do
/// so in pairs of calls.
TEST(Zeros, HaveNoSignOfTheirOwn) {
  for (const int ranks : {4, 5}) {
    Vectors inputs(static_cast<std::size_t>(ranks), std::vector<double>(3000, 0.0));
    for (int rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < 3000; i += 2) inputs[std::size_t(rank)][i] = i % 4 == 0 ? 1 : -1;
    CodecHarness harness({.make = make_signcount, .ranks = ranks});
    const auto first = harness.allreduce(inputs, 0), second = harness.allreduce(inputs, 1);
    for (std::size_t i = 1; i < 3000; i += 2) {
      ASSERT_EQ(first[i] + second[i], 0) << ranks << " ranks, element " << i;
      if (ranks == 4) ASSERT_EQ(first[i], 0) << "element " << i;
    }
  }
}

/// Ties of an even number of ranks go both ways, alike often and in turns.
TEST(Majority, TiesTakeTurns) {
  Vectors inputs(2, std::vector<double>(3000, 1.0));
  inputs[1].assign(3000, -1.0);
  CodecHarness harness({.make = make_signcount, .ranks = 2, .parameters = {{"vote", "majority"}}});
  const auto first = harness.allreduce(inputs, 0), second = harness.allreduce(inputs, 1);
  int plus = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(first[i], -second[i]) << "element " << i;
    plus += first[i] > 0;
  }
  EXPECT_NEAR(plus, 1500, 60);
}

TEST(Scale, IsTheMeanMagnitudeOfAllRanks) {
  Vectors inputs = {std::vector<double>(1024, 3.0), std::vector<double>(1024, 1.0)};
  for (const Parameters& parameters : {Parameters{}, Parameters{{"scale", "global"}}}) {
    CodecHarness harness({.make = make_signcount, .ranks = 2, .parameters = parameters});
    for (const double value : harness.allreduce(inputs)) ASSERT_EQ(value, 4.0);
  }
  CodecHarness harness({.make = make_marsit, .ranks = 2, .mean = true});
  for (const double value : harness.allreduce(inputs)) ASSERT_EQ(value, 2.0);
}

}  // namespace
}  // namespace cohom::test
