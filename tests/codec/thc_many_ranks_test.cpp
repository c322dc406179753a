// thc on more ranks than fit into one process: lanes that hold their sums, on every instruction set
// and device.

#include "codec_harness.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_options.hpp"
#include "exact_sums.hpp"
#include "lone_rank.hpp"
#include "tested_tables.hpp"
#include "thc_oracle.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
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

}  // namespace
}  // namespace cohom::test
