// exact in whole calls: every algorithm gives the correctly rounded sums and means, so that it does
// not matter which one it was, nor who added what to what.

#include "codec_specs.hpp"
#include "exact_data.hpp"
#include "guarded_buffer.hpp"
#include "loopback_ranks.hpp"
#include "lying_peer.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "superaccumulator.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

struct Call {
  std::string_view data;
  ExactProblem problem;
  std::size_t segment = 0;
  std::vector<Bytes> inputs = {};
  Bytes expected = {};

  [[nodiscard]] std::string name() const { return std::string(data) + " " + problem.name(); }
};

Call call_of(const ExactData& data, const ExactProblem& problem, std::size_t segment) {
  Call call{data.name, problem, segment};
  if (problem.count == 0) {
    call.inputs.resize(std::size_t(problem.ranks));
    return call;
  }
  call.inputs = data.make(problem);
  call.expected = accumulated_sums(problem.type, call.inputs, problem.divisor());
  return call;
}

/// Every set of vectors in several pieces; and lengths around mini-blocks, groups and what goes in
/// one round, with the sets in turn. Sums and means: of many ranks, which take their time, one or
/// the other.
std::vector<Call> calls_of(int ranks, ElementType type) {
  constexpr std::size_t counts[] = {0, 1, 7, 15, 16, 17, 128, 255, 256, 257, 1023, 1024, 1025};
  std::vector<Call> calls;
  std::uint64_t seed = std::uint64_t(ranks) + 100 * std::uint64_t(type);
  const auto add = [&](const ExactData& data, std::size_t count, std::size_t segment) {
    ++seed;
    for (const bool mean : {false, true})
      if (ranks < 8 || mean == (seed % 2 == 0))
        calls.push_back(call_of(data, {type, ranks, count, mean, seed}, segment));
  };
  for (const ExactData& data : exact_data())
    add(data, ranks < 8 || seed % 4 == 0 ? 5000 : 2100, 1024);
  for (const std::size_t count : counts)
    add(exact_data()[seed * 3 % exact_data().size()], count, 0);
  return calls;
}

void run(const Call& call, std::string_view algorithm, bool in_place, int rank,
         Communicator& communicator) {
  const Bytes& input = call.inputs[std::size_t(rank)];
  const std::size_t element = size_of(call.problem.type);
  GuardedBuffer source(input.size(), element), target(input.size(), 3 * element);
  source.fill(input);
  GuardedBuffer& result = in_place ? source : target;
  allreduce(source.data(), result.data(), call.problem.count, call.problem.type, communicator,
            {.codec = "exact",
             .algorithm = std::string(algorithm),
             .op = call.problem.mean ? ReduceOp::mean : ReduceOp::sum,
             .segment = call.segment});
  const std::string name = call.name() + " by " + std::string(algorithm) +
                           (in_place ? " in place" : "") + ", rank " + std::to_string(rank);
  EXPECT_TRUE(same_bytes(result.bytes(), call.expected)) << name;
  EXPECT_TRUE(result.fences_intact()) << name;
  if (!in_place) EXPECT_TRUE(same_bytes(source.bytes(), input)) << name;
}

class ExactCalls : public testing::TestWithParam<std::tuple<int, ElementType>> {};

TEST_P(ExactCalls, AreCorrectlyRoundedByEveryAlgorithm) {
  const auto [ranks, type] = GetParam();
  const Watchdog watchdog("exact on " + std::to_string(ranks) + " ranks");
  const auto calls = calls_of(ranks, type);
  const auto algorithms = algorithms_for("exact");
  ASSERT_EQ(algorithms.size(), algorithms_for("raw").size()) << "64-bit words, which all can add";
  // By itself the library may send one rank's vector raw.
  std::vector<std::string_view> names{"auto"};
  for (const AlgorithmRow& algorithm : algorithms) names.push_back(algorithm.name);
  const PairShare share(2);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    bool in_place = false;
    std::uint64_t offloaded = 0;
    for (std::size_t c = 0; c < calls.size(); ++c)
      for (std::size_t a = 0; a < names.size(); ++a) {
        if (!share.has(c, a, type)) continue;
        run(calls[c], names[a], in_place = !in_place, rank, communicator);
        if (names[a] == "offload" && ranks > 1) ++offloaded;
      }
    const OffloadCounters counters = communicator.offload_counters();
    EXPECT_GE(counters.offloaded, offloaded);
    EXPECT_EQ(counters.declined + counters.repeated, 0u);
  });
}

std::vector<int> exact_ranks() {
  return races_only ? std::vector{2, 3, 5} : std::vector{1, 2, 3, 5, 8, 17};
}

INSTANTIATE_TEST_SUITE_P(Ranks, ExactCalls,
                         testing::Combine(testing::ValuesIn(exact_ranks()),
                                          testing::ValuesIn(tested_types())),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  std::string(name_of(std::get<1>(test.param)));
                         });

/// Users of reproducible sums send scalars: `auto` may take any algorithm, but no other codec, with
/// an aggregator that adds its words or without.
TEST(ExactPlans, AreExactHoweverShort) {
  for (const int ranks : races_only ? std::vector{2} : std::vector{2, 5, 17})
    for (const bool offloads : {false, true}) {
      const auto faults = std::make_shared<AggregatorFaults>();
      faults->supports = [offloads](Merge) { return offloads; };
      on_ranks(ranks, {.faults = faults}, [&](int, Communicator& communicator) {
        for (const char* spec : {"exact", "sparse+exact", "exact:vectors=many"})
          for (const ElementType type : all_element_types)
            for (const std::size_t count : {0, 1, 2, 7, 100, 256, 1000, 5000, 100000}) {
              const PlanDescription found =
                  AllreducePlan(communicator, count, type, {.codec = spec}).describe();
              EXPECT_EQ(found.codec, spec) << count << ' ' << name_of(type);
              EXPECT_FALSE(found.bypass) << count << ' ' << name_of(type);
            }
      });
    }
}

/// Nothing is added, so raw has the bits of exact (ExactCalls compares them), and the plan says
/// that it took raw, and why.
TEST(ExactPlans, OfOneRankSayThatTheyAreRaw) {
  on_ranks(1, [&](int, Communicator& communicator) {
    for (const char* spec : {"exact", "sparse+exact"}) {
      const PlanDescription found =
          AllreducePlan(communicator, 1000, ElementType::f32, {.codec = spec}).describe();
      EXPECT_TRUE(found.bypass);
      EXPECT_EQ(found.codec, "raw");
      EXPECT_EQ(found.reason, "one rank: nothing travels");
    }
    const PlanDescription asked = AllreducePlan(communicator, 1000, ElementType::f32,
                                                {.codec = "exact", .algorithm = "direct"})
                                      .describe();
    EXPECT_EQ(asked.codec, "exact") << "asking for an algorithm keeps the codec";
    EXPECT_FALSE(asked.bypass);
  });
}

/// Calls by `offload` really go to the aggregator, from scalars on.
TEST(ExactOffload, AddsInTheNetwork) {
  for (const int ranks : {2, 5})
    on_ranks(ranks, [&](int, Communicator& communicator) {
      for (const char* spec : {"exact", "sparse+exact"})
        for (const ElementType type : all_element_types)
          for (const std::size_t count : {1, 100, 1025, 20000}) {
            const std::string what =
                std::string(spec) + " " + std::to_string(count) + " " + std::string(name_of(type));
            const OffloadCounters before = communicator.offload_counters();
            Bytes data(count * size_of(type), std::byte{0x11});
            AllreducePlan plan(communicator, count, type, {.codec = spec, .algorithm = "offload"});
            EXPECT_EQ(plan.describe().algorithm, "offload") << what;
            plan.execute(data.data(), data.data());
            const OffloadCounters made = communicator.offload_counters() - before;
            EXPECT_EQ(made.offloaded, 1u) << what;
            EXPECT_EQ(made.declined + made.repeated, 0u) << what;
            EXPECT_GT(made.bytes, count * size_of(type) / 2) << what;
          }
    });
}

/// Headers, payloads and sums that a rank changed: an error or another sum, but no crash, and not
/// all wait for ever.
TEST(ExactPeers, ThatLieCrashNobody) {
  const std::uint64_t count = races_only ? 20 : 300;
  std::size_t failed = 0;
  for (std::uint64_t seed = 500; seed < 500 + count; ++seed) {
    LyingPeerCase lying = lying_peer_case(seed);
    lying.spec = "exact";
    SCOPED_TRACE(lying.name());
    const LyingPeerReport report = run_lying_peer(lying);
    EXPECT_NE(report.outcome, LyingPeerOutcome::stuck);
    failed += report.outcome == LyingPeerOutcome::failed ? 1 : 0;
  }
  EXPECT_GT(failed, count / 10) << "the lies were heard";
}

}  // namespace
}  // namespace cohom::test
