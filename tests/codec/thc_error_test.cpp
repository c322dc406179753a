// thc's error against theory: every dither, scale and form, identical and independent inputs.

#include "codec_harness.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_options.hpp"
#include "codecs/thc/thc_table.hpp"
#include "thc_oracle.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <tuple>

namespace cohom::test {
namespace {

constexpr std::size_t elements = std::size_t{1} << 17;

std::vector<std::vector<double>> make_inputs(Inputs kind, int ranks) {
  std::vector<std::vector<double>> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(
        normal_values(elements, kind == Inputs::identical ? 1 : 1 + std::uint64_t(rank)));
  return inputs;
}

/// The oracle for these parameters: only the table and the threshold come from the library, and
/// those have tests of their own.
double expectation(const Parameters& parameters, Inputs kind,
                   std::span<const std::vector<double>> inputs) {
  const auto ranks = static_cast<std::uint32_t>(inputs.size());
  const ThcOptions options = parse_thc_options(parameters, ranks);
  const double threshold = normal_tail_threshold(options.tail);
  std::vector<std::uint16_t> levels(options.intervals + 1);
  std::iota(levels.begin(), levels.end(), std::uint16_t{0});
  if (options.table) levels = optimal_levels(options.bits, options.intervals, threshold);
  const double scale = options.global_scale ? 1 : scale_excess(inputs, options.rotation);
  auto error = rounding_error(levels, threshold, options.dither == kernels::Dither::nearest, scale);
  // No coefficient of a block exceeds the root of its size.
  if (threshold * threshold > options.rotation) error.truncation = 0;
  return expected_vnmse(error, options.dither, kind, int(ranks));
}

double measure(const Parameters& parameters, std::span<const std::vector<double>> inputs) {
  CodecHarness harness(
      {.make = make_thc, .ranks = int(inputs.size()), .parameters = parameters, .segment = 32768});
  return vnmse(sum_of(inputs), harness.allreduce(inputs));
}

using Case = std::tuple<const char*, const char*, const char*, int, Inputs>;

class ThcError : public testing::TestWithParam<Case> {};

TEST_P(ThcError, IsTheExpectedOne) {
  const auto [dither, scale, levels, ranks, kind] = GetParam();
  // Hardly any clamping, so that the share of rounding shows.
  const Parameters parameters{
      {"dither", dither}, {"scale", scale}, {"levels", levels}, {"tail", "0.0001"}};
  const auto inputs = make_inputs(kind, ranks);
  const double expected = expectation(parameters, kind, inputs);
  const double measured = measure(parameters, inputs);
  RecordProperty("expected", std::to_string(expected));
  RecordProperty("measured", std::to_string(measured));
  EXPECT_NEAR(measured / expected, 1, 0.05) << measured << " expected " << expected;
}

std::string case_name(const testing::TestParamInfo<Case>& instance) {
  const auto [dither, scale, levels, ranks, kind] = instance.param;
  return std::string(dither) + "_" + scale + "_" + levels + "_" + std::to_string(ranks) +
         (kind == Inputs::identical ? "_identical" : "_independent");
}

INSTANTIATE_TEST_SUITE_P(All, ThcError,
                         testing::Combine(testing::Values("nearest", "independent", "correlated"),
                                          testing::Values("block", "global"),
                                          testing::Values("table", "full"),
                                          testing::Values(1, 2, 3, 8),
                                          testing::Values(Inputs::independent, Inputs::identical)),
                         case_name);

struct Documented {
  Parameters parameters;
  int ranks;
  double vnmse;
};

// Figures of the design, in range plus truncation, for one scale for all (s = 1).
TEST(ThcErrorDocumented, MatchesTheFigures) {
  const Parameters defaults{{"scale", "global"}, {"dither", "independent"}};
  const Parameters full{{"scale", "global"}, {"dither", "independent"}, {"levels", "full"}};
  const Documented figures[] = {
      {defaults, 1, 0.01307 + 0.0073}, {defaults, 4, 0.01307 + 0.0073},
      {full, 2, 4.5e-4 + 0.00013},     {full, 4, 1.8e-3 + 0.00013},
      {full, 8, 7.5e-3 + 0.00013},     {full, 16, 3.2e-2 + 0.00013},
  };
  for (const auto& [parameters, ranks, expected] : figures) {
    const double measured = measure(parameters, make_inputs(Inputs::independent, ranks));
    EXPECT_NEAR(measured / expected, 1, 0.1) << ranks << " ranks: " << measured;
  }
}

TEST(ThcErrorDocumented, OfTheDefaults) {
  for (Inputs kind : {Inputs::independent, Inputs::identical})
    for (int ranks : {1, 4, 8}) {
      const auto inputs = make_inputs(kind, ranks);
      EXPECT_NEAR(measure({}, inputs) / expectation({}, kind, inputs), 1, 0.1) << ranks;
    }
}

TEST(ThcErrorDocumented, OfOtherBitsGranularitiesAndRotations) {
  const Parameters cases[] = {
      {{"bits", "1"}, {"dither", "independent"}},
      {{"bits", "2"}},
      {{"bits", "3"}, {"granularity", "16"}},
      {{"bits", "8"}, {"tail", "0.0001"}},
      {{"granularity", "34"}, {"tail", "1/1024"}},
      {{"rotation", "1024"}},
      {{"rotation", "65536"}},
      {{"levels", "full"}, {"lane", "16"}, {"rotation", "16"}, {"tail", "1/1000000"}}};
  const auto inputs = make_inputs(Inputs::independent, 3);
  for (const Parameters& parameters : cases)
    EXPECT_NEAR(measure(parameters, inputs) / expectation(parameters, Inputs::independent, inputs),
                1, 0.1)
        << parameters.begin()->first << '=' << parameters.begin()->second;
}

// A sum decoded with a wrong count is shifted by a constant, which the rotation gathers in
// coordinate 0 of every block.
double first_coordinate_energy(int ranks, int miscount, double& others) {
  const auto inputs = make_inputs(Inputs::independent, ranks);
  CodecHarness harness({.make = make_thc, .ranks = ranks, .miscount = miscount});
  const auto found = harness.allreduce(inputs);
  const auto exact = sum_of(inputs);
  double energy[2] = {0, 0};
  for (std::size_t i = 0; i < elements; ++i)
    energy[i % 256 != 0] += (found[i] - exact[i]) * (found[i] - exact[i]);
  others = energy[1] / 255;
  return energy[0];
}

TEST(ThcErrorDocumented, HasNoSpikeOnTheFirstCoordinate) {
  for (int ranks : {1, 2, 5}) {
    double others = 0;
    EXPECT_NEAR(first_coordinate_energy(ranks, 0, others) / others, 1, 0.3) << ranks;
    EXPECT_GT(first_coordinate_energy(ranks, 1, others) / others, 1000) << ranks;
  }
}

}  // namespace
}  // namespace cohom::test
