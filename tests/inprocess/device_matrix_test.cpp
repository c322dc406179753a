// Calls with buffers on the (emulated) device give the bits of calls with the host's: every codec,
// algorithm, type and number of ranks, with words staged and not.

#include "codec_specs.hpp"
#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

struct Case {
  std::string_view codec;
  std::string_view algorithm;
  const RankInputs* inputs = nullptr;
  std::size_t segment = 0;
  ReduceOp op = ReduceOp::sum;

  [[nodiscard]] AllreducePlan plan(Communicator& communicator) const {
    return {communicator,
            inputs->count(),
            inputs->type(),
            {.codec = std::string(codec),
             .algorithm = std::string(algorithm),
             .op = op,
             .segment = segment}};
  }
};

Bytes on_host(const Case& c, Communicator& communicator, int calls) {
  AllreducePlan plan = c.plan(communicator);
  const Bytes& input = c.inputs->bytes(communicator.rank());
  Bytes output(input.size());
  for (int call = 0; call < calls; ++call) plan.execute(input.data(), output.data());
  return output;
}

Bytes on_device(const Case& c, Communicator& communicator, int calls, bool in_place) {
  AllreducePlan plan = c.plan(communicator);
  const Bytes& input = c.inputs->bytes(communicator.rank());
  const DeviceVector source(input);
  DeviceVector target(input);
  for (int call = 0; call < calls; ++call) {
    if (in_place) target = DeviceVector(input);
    plan.execute(in_place ? target.data() : source.data(), target.data());
  }
  EXPECT_TRUE(same_bytes(source.fetch(), input)) << "the input was written";
  return target.fetch();
}

void expect_equal(const Case& c, Communicator& communicator) {
  SCOPED_TRACE(std::string(c.codec) + " " + std::string(c.algorithm) + " " + c.inputs->name() +
               " rank " + std::to_string(communicator.rank()));
  // The second call finds what the first one left: state, and words in its workspace.
  const Bytes expected = on_host(c, communicator, 2);
  EXPECT_TRUE(same_bytes(on_device(c, communicator, 2, false), expected));
  EXPECT_TRUE(same_bytes(on_device(c, communicator, 2, true), expected)) << "in place";
}

void run_all(const std::vector<Case>& cases, int ranks, const LoopbackOptions& options) {
  const WithDevice device;
  on_ranks(ranks, options, [&](int, Communicator& communicator) {
    for (const Case& c : cases) expect_equal(c, communicator);
  });
}

/// With NaNs and infinities in some blocks, and a run of outliers.
void spoil(RankInputs& inputs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::size_t element = size_of(inputs.type());
  const auto set = [&](int rank, std::size_t at, double value) {
    if (at >= inputs.count()) return;
    const Bytes bytes = to_bytes(inputs.type(), std::vector{value});
    std::copy_n(bytes.begin(), element,
                inputs.mutable_bytes(rank).begin() + std::ptrdiff_t(at * element));
  };
  set(0, 17, nan);
  set(inputs.ranks() - 1, 2100, infinity);
  set(0, 2900, -infinity);
}

/// All pairs of codec and algorithm, or a part of them.
std::vector<Case> cases_of(const RankInputs& thousands, const RankInputs& few,
                           const RankInputs& spoilt, bool all_pairs) {
  std::vector<Case> cases;
  std::size_t pair = std::size_t(thousands.ranks());
  for (const CodecSpec& codec : specs_for(thousands.ranks()))
    for (const AlgorithmRow& algorithm : algorithms_for(codec.spec)) {
      if (++pair % (races_only ? 23 : sanitized ? 11 : 5) != 0 && !all_pairs) continue;
      const ReduceOp op = pair % 2 == 0 ? ReduceOp::sum : ReduceOp::mean;
      cases.push_back({codec.spec, algorithm.name, &thousands, 2048, op});
      if (pair % 4 < 2)
        cases.push_back({codec.spec, algorithm.name, pair % 4 == 0 ? &spoilt : &few, 0, op});
    }
  return cases;
}

class DeviceMatrix : public testing::TestWithParam<std::tuple<int, ElementType>> {};

TEST_P(DeviceMatrix, HasTheHostsBits) {
  const auto [ranks, type] = GetParam();
  const RankInputs few(ranks, type, 257), thousands(ranks, type, 5003);
  RankInputs spoilt(ranks, type, 3333);
  spoil(spoilt);
  // Kernels have tests of their own for types, and schedules for ranks.
  const bool all_pairs = type == ElementType::f32 && ranks == 2 && !races_only;
  run_all(cases_of(thousands, few, spoilt, all_pairs), ranks, {});
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceMatrix,
                         testing::Combine(testing::ValuesIn(races_only ? tested_ranks()
                                                                       : std::vector{1, 2, 3, 5}),
                                          testing::ValuesIn(tested_types())),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  std::string(name_of(std::get<1>(test.param)));
                         });

class DeviceTransports : public testing::TestWithParam<int> {
 protected:
  static void run(const LoopbackOptions& options) {
    const RankInputs few(GetParam(), ElementType::f32, 1);
    const RankInputs thousands(GetParam(), ElementType::f32, 4099);
    RankInputs spoilt(GetParam(), ElementType::f32, 2999);
    spoil(spoilt);
    run_all(cases_of(thousands, few, spoilt, false), GetParam(), options);
  }
};

TEST_P(DeviceTransports, ReachTheDevice) { run(reaching_device()); }

TEST_P(DeviceTransports, StageMessagesOfAnySizeInAnyOrder) {
  LoopbackOptions weather;
  weather.eager_limit = 0;
  weather.preferred_message_bytes = 1000;
  weather.delay = 60;
  run(weather);
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceTransports, testing::Values(2, 3));

}  // namespace
}  // namespace cohom::test
