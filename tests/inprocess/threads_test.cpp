// Workers: whoever runs a slice of codec work, bits, errors and ends of calls are the same.

#include "base/worker_pool.hpp"
#include "call/communicator_impl.hpp"
#include "codec_specs.hpp"
#include "codecs/codec_table.hpp"
#include "loopback_ranks.hpp"
#include "plan/plan_workers.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// Workers take slices of any length, and pieces are short. Nobody takes them back before a worker
/// has a core.
constexpr Tuning any_slice{.min_given_bytes = 0, .takes_back = false};
constexpr std::size_t segment = 1024;

/// Not whole blocks, and with elements that no codec can express.
RankInputs inputs_of(int ranks, ElementType type) {
  RankInputs inputs(ranks, type, 20011, 5);
  const auto spoil = [&](int rank, std::size_t element, double value) {
    const Bytes bytes = to_bytes(type, std::vector<double>{value});
    std::memcpy(inputs.mutable_bytes(rank).data() + element * bytes.size(), bytes.data(),
                bytes.size());
  };
  spoil(0, 19000, std::numeric_limits<double>::infinity());
  spoil(ranks - 1, 300, std::numeric_limits<double>::quiet_NaN());
  return inputs;
}

std::vector<std::string> specs_of(int ranks) {
  std::vector<std::string> specs;
  for (const CodecSpec& sample : specs_for(ranks)) {
    const bool first = find_codec(parse_spec(sample.spec).name).samples[0].spec == sample.spec;
    if (!races_only || first) specs.emplace_back(sample.spec);
  }
  return specs;
}

std::vector<std::string> algorithms_of(int ranks) {
  if (ranks == 1) return {"ring"};
  if (races_only) return {"direct", "recursive_doubling"};
  return {"direct", "ring", "recursive_doubling"};
}

/// What a rank gets: two calls, so that what a codec keeps is seen, and one in place.
std::vector<Bytes> results(Communicator& communicator, const RankInputs& inputs,
                           const std::string& threads) {
  std::vector<Bytes> all;
  for (const std::string& spec : specs_of(inputs.ranks()))
    for (const std::string& algorithm : algorithms_of(inputs.ranks())) {
      AllreducePlan plan(
          communicator, inputs.count(), inputs.type(),
          {.codec = spec, .algorithm = algorithm, .segment = segment, .threads = threads});
      Bytes source = inputs.bytes(communicator.rank());
      Bytes target(source.size());
      for (int call = 0; call < 2; ++call) {
        plan.execute(source.data(), target.data());
        all.push_back(target);
      }
      plan.execute(source.data(), source.data());
      all.push_back(std::move(source));
    }
  return all;
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, DoNotChangeABit) {
  const int ranks = GetParam();
  const std::vector<std::string> numbers =
      races_only ? std::vector<std::string>{"2"} : std::vector<std::string>{"1", "2", "3", "8"};
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    if (races_only && type != ElementType::f32) continue;
    const Watchdog watchdog(std::to_string(ranks) + " ranks " + std::string(name_of(type)));
    const RankInputs inputs = inputs_of(ranks, type);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const auto expected = results(communicator, inputs, "0");
      communicator.impl().tuning = any_slice;
      for (const std::string& threads : numbers) {
        const auto pool =
            WorkerPool::shared(std::stoul(threads),
                               choose_workers({}, communicator.topology().cores).hardware_threads);
        const std::uint64_t begun = pool->jobs_begun();
        const auto found = results(communicator, inputs, threads);
        EXPECT_GT(pool->jobs_begun(), begun + 100) << threads << " workers had nothing to do";
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_TRUE(same_bytes(found[i], expected[i]))
              << "result " << i << " of rank " << rank << ", threads " << threads << ", "
              << inputs.name();
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::Values(1, 2, 3),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace cohom::test
