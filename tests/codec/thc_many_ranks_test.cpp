// thc on more ranks than fit into one process: lanes that hold their sums, on every instruction set
// and device.

#include "codec_harness.hpp"
#include "codecs/common/dither.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_options.hpp"
#include "codecs/thc/thc_table.hpp"
#include "exact_sums.hpp"
#include "lone_rank.hpp"
#include "tested_tables.hpp"
#include "thc_oracle.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

struct FullLane {
  std::uint32_t ranks;
  unsigned lane;
  std::uint32_t intervals;
};

/// 8 bits while they hold a level for each rank; then what holds 30.
constexpr FullLane full_lanes[] = {
    {254, 8, 1},    {255, 8, 1},     {256, 16, 255},  {257, 16, 255},  {1024, 16, 63},
    {2184, 16, 30}, {2185, 21, 959}, {8192, 21, 255}, {32768, 21, 63}, {65535, 21, 32}};

TEST(ThcManyRanks, FullLevelsTakeALaneThatHoldsThem) {
  for (const auto& [ranks, lane, intervals] : full_lanes) {
    const ThcOptions options = parse_thc_options({{"levels", "full"}}, ranks);
    EXPECT_EQ(options.lane, lane) << ranks;
    EXPECT_EQ(options.intervals, intervals) << ranks;
  }
}

TEST(ThcManyRanks, ALaneThatIsTooSmallIsAnError) {
  for (const std::uint32_t ranks : {256u, 65535u}) try {
      parse_thc_options({{"levels", "full"}, {"lane", "8"}}, ranks);
      ADD_FAILURE() << "accepted: " << ranks;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("lane"), std::string::npos) << error.what();
    }
}

class ThcManyRanks : public testing::TestWithParam<TestedTable> {};

INSTANTIATE_TEST_SUITE_P(Tables, ThcManyRanks, testing::ValuesIn(tested_tables()), table_name);

/// Sums of the most ranks have the words and the elements of the reference, and one rank's error.
TEST_P(ThcManyRanks, FullLevelsOfEveryLane) {
  constexpr std::size_t count = 4096 + 40;  // a ragged block
  const std::vector<double> values = normal_values(count, 1);
  for (const std::uint32_t ranks : {255u, 256u, 257u, 1024u, 8192u, 65535u})
    for (const ElementType type : {ElementType::f32, ElementType::f64}) {
      const Bytes input = to_bytes(type, values);
      LoneRankSetup setup{.make = make_thc,
                          .rank = int(ranks) / 3,
                          .ranks = int(ranks),
                          .type = type,
                          .parameters = {{"levels", "full"}},
                          .elements = count};
      setup.kernels = &kernels::kernel_table(kernels::Isa::scalar);
      LoneRank reference(setup);
      setup.kernels = GetParam().table;
      LoneRank tested(setup);
      reference.agree(input, 3);
      tested.agree(input, 3);
      EXPECT_EQ(tested.payload(Form::narrow), reference.payload(Form::narrow)) << ranks;
      const auto wide = tested.payload(Form::wide);
      EXPECT_EQ(wide, reference.payload(Form::wide)) << ranks;
      const Bytes& sum = tested.decode(wide);
      EXPECT_EQ(sum, reference.decode(wide)) << ranks;
      if (ranks < 256) continue;  // one interval is too few for an error to speak of
      std::vector<double> expected = values;
      for (double& value : expected) value *= ranks;
      EXPECT_LT(vnmse(expected, to_values(type, sum)), 0.01) << ranks;
    }
}

/// All ranks for real, and in both forms.
TEST(ThcManyRanks, SumsOf257) {
  constexpr int ranks = 257;
  std::vector<std::vector<double>> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(normal_values(1024, 1 + std::uint64_t(rank)));
  for (const Parameters& parameters : {Parameters{{"levels", "full"}}, Parameters{}}) {
    HarnessSetup setup{.make = make_thc, .ranks = ranks, .parameters = parameters, .segment = 512};
    CodecHarness narrow(setup);
    setup.form = Form::wide;
    CodecHarness wide(setup);
    const auto sum = narrow.allreduce(inputs);
    EXPECT_EQ(wide.allreduce(inputs), sum);
    EXPECT_LT(vnmse(sum_of(inputs), sum), parameters.empty() ? 0.03 : 0.001);
  }
}

// ---- dither, whose phases repeat from 257 ranks on

/// For each unit: the ranks have phases of their own, or all 256 phases have as many of them as
/// any other, give or take one.
TEST(ThcManyRanks, PhasesAreSharedEvenly) {
  for (const std::uint32_t ranks : {2u, 7u, 255u, 256u, 257u, 1000u, 1024u, 2039u}) {
    std::vector<std::vector<std::uint32_t>> shares;  // by unit and phase
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::uint8_t> offsets = correlated_offsets(rank, ranks);
      shares.resize(offsets.size(), std::vector<std::uint32_t>(256));
      for (std::size_t unit = 0; unit < offsets.size(); ++unit) ++shares[unit][offsets[unit]];
    }
    for (const auto& of_unit : shares) {
      const auto [least, most] = std::ranges::minmax(of_unit);
      ASSERT_EQ(least, ranks / 256) << ranks;
      ASSERT_EQ(most, (ranks + 255) / 256) << ranks;
    }
  }
}

/// With hardly any clamping.
double full_error(const char* dither, std::span<const std::vector<double>> inputs) {
  CodecHarness harness({.make = make_thc,
                        .ranks = int(inputs.size()),
                        .parameters = {{"levels", "full"}, {"tail", "1e-6"}, {"dither", dither}}});
  return vnmse(sum_of(inputs), harness.allreduce(inputs));
}

/// Half the error of independent dither, as below 256 ranks.
TEST(ThcManyRanks, DitherStaysCorrelatedAcrossUncorrelatedRanks) {
  for (const int ranks : {256, 300, 512, 1024}) {
    std::vector<std::vector<double>> inputs;
    for (int rank = 0; rank < ranks; ++rank)
      inputs.push_back(normal_values(2048, 1 + std::uint64_t(rank)));
    EXPECT_NEAR(full_error("correlated", inputs) / full_error("independent", inputs),
                (ranks + 1) / (2.0 * ranks), 0.05)
        << ranks;
  }
}

/// Of identical ranks all phases together leave the rounding to 1/256 of an interval.
TEST(ThcManyRanks, IdenticalRanksLoseA256thOfAnInterval) {
  for (const int ranks : {512, 1024, 2048}) {
    const std::vector<std::vector<double>> inputs(std::size_t(ranks), normal_values(2048, 1));
    const ThcOptions options = parse_thc_options({{"levels", "full"}}, std::uint32_t(ranks));
    const double interval = 2 * normal_tail_threshold(1e-6) / options.intervals;
    const double expected = interval * interval / (12 * 65536.0);
    EXPECT_NEAR(full_error("correlated", inputs) / expected, 1, 0.15) << ranks;
  }
}

}  // namespace
}  // namespace cohom::test
