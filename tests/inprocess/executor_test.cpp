// The executor under bad weather: messages that are late and out of order, no eager messages at
// all, windows of one. Nothing may hang, and no bit may change.

#include "call/communicator_impl.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr Tuning window_of_one{
    .max_units_sending = 1, .max_units_receiving = 1, .low_sends = 1, .sends_per_peer = 1};

struct Weather {
  const char* name;
  LoopbackOptions options;
  Tuning tuning;
};

const Weather weathers[] = {
    {"eager_limit_0", {.eager_limit = 0}, {}},
    {"window_1", {}, window_of_one},
    {"eager_limit_0_window_1", {.eager_limit = 0}, window_of_one},
    {"tiny_messages", {.eager_limit = 0, .preferred_message_bytes = 64}, window_of_one},
    {"delays", {.delay = 150, .seed = 11}, {}},
    {"delays_eager_limit_0", {.eager_limit = 0, .delay = 200, .seed = 12}, {}},
    {"delays_eager_limit_0_window_1", {.eager_limit = 0, .delay = 150, .seed = 13}, window_of_one},
    {"delays_small_messages",
     {.eager_limit = 300, .preferred_message_bytes = 500, .delay = 100, .seed = 14},
     {}},
};

/// Blocks with a NaN or an infinity take the fallback round as well.
RankInputs inputs_with_nan(int ranks) {
  RankInputs inputs(ranks, ElementType::f32, 7001, 5);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(inputs.mutable_bytes(ranks - 1).data() + 300 * sizeof(float), &nan, sizeof nan);
  std::memcpy(inputs.mutable_bytes(0).data() + 6999 * sizeof(float), &nan, sizeof nan);
  return inputs;
}

/// Every result of one rank, spec by spec, algorithm by algorithm, and not in place, then in place.
std::vector<Bytes> results(Communicator& communicator, const RankInputs& inputs) {
  std::vector<Bytes> all;
  const Bytes& input = inputs.bytes(communicator.rank());
  CaseShare share(1, races_only ? 4 : 1);
  for (const char* spec : {"raw", "thc", "thc:scale=global,levels=full", "signcount:vote=majority",
                           "marsit", "marsit:period=1"})
    for (const AlgorithmRow& algorithm : algorithm_table()) {
      if (!tests_algorithm(algorithm.name) || share.skips_this()) continue;
      AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                         {.codec = spec, .algorithm = std::string(algorithm.name), .segment = 256});
      Bytes source = input;
      Bytes target(input.size());
      plan.execute(source.data(), target.data());
      plan.reset_state();
      plan.execute(source.data(), source.data());
      EXPECT_TRUE(same_bytes(source, target)) << spec << " " << algorithm.name << " in place";
      all.push_back(std::move(target));
    }
  return all;
}

class Weathers : public testing::TestWithParam<Weather> {};

TEST_P(Weathers, NeitherHangsNorChangesABit) {
  const Weather& weather = GetParam();
  for (int ranks : {2, 3, 4, 7}) {
    if (ranks == 4 && sanitized) continue;
    const Watchdog watchdog(std::string(weather.name) + ", " + std::to_string(ranks) + " ranks");
    const RankInputs inputs = inputs_with_nan(ranks);
    std::vector<Bytes> expected;
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      auto calm = results(communicator, inputs);
      if (rank == 0) expected = std::move(calm);
    });
    on_ranks(ranks, weather.options, [&](int rank, Communicator& communicator) {
      communicator.impl().tuning = weather.tuning;
      const auto found = results(communicator, inputs);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_TRUE(same_bytes(found[i], expected[i]))
            << "result " << i << " on rank " << rank << " of " << inputs.name()
            << ", delays seeded " << weather.options.seed;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, Weathers, testing::ValuesIn(weathers),
                         [](const auto& test) { return std::string(test.param.name); });

/// A rank that runs ahead of the others sums what arrives long before its own data has left: in
/// place, the sum must not be written over it.
TEST(Executor, InPlaceWaitsUntilTheInputHasLeft) {
  constexpr int ranks = 2;
  const Watchdog watchdog("in place");
  const RankInputs inputs(ranks, ElementType::f32, 256 * 64, 6);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const LoopbackOptions options{.eager_limit = 0, .delay = 220, .seed = seed};
    on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
      communicator.impl().tuning = {.max_units_sending = 1, .max_units_receiving = 8};
      AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                         {.codec = "raw", .algorithm = "recursive_doubling", .segment = 256});
      Bytes data = inputs.bytes(rank);
      plan.execute(data.data(), data.data());
      // Two operands: the float64 sum, rounded, is the float sum.
      EXPECT_TRUE(same_bytes(data, to_bytes(inputs.type(), inputs.sum())))
          << "rank " << rank << " delays seeded " << seed;
    });
  }
}

}  // namespace
}  // namespace cohom::test
