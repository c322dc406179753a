// Calls to an aggregator in the network, seen from outside: several in flight while it fails, one
// that dies and comes back, and what is refused.

#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Loss = AggregatorFaults::Loss;
using Part = AggregatorFaults::Part;

struct Call {
  RankInputs inputs;
  std::string codec;
};

std::vector<Call> calls_of(int ranks, std::size_t count) {
  const char* const codecs[] = {"thc", "raw", "signcount", "thc:levels=full", "marsit", "sparse"};
  std::vector<Call> calls;
  for (std::size_t i = 0; i < count; ++i)
    calls.push_back({RankInputs(ranks, ElementType::f32, 500 * (i % 7), 60 + i),
                     codecs[i % std::size(codecs)]});
  return calls;
}

Request start(const Call& call, const char* algorithm, Bytes& output, Communicator& communicator) {
  const Bytes& input = call.inputs.bytes(communicator.rank());
  output.assign(input.size(), std::byte{0xee});
  return allreduce_start(input.data(), output.data(), call.inputs.count(), call.inputs.type(),
                         communicator,
                         {.codec = call.codec, .algorithm = algorithm, .segment = 512});
}

/// All in flight at once, waited for from the last to the first.
std::vector<Bytes> all_at_once(const std::vector<Call>& calls, const char* algorithm,
                               Communicator& communicator) {
  std::vector<Bytes> outputs(calls.size());
  std::vector<Request> requests;
  for (std::size_t i = 0; i < calls.size(); ++i)
    requests.push_back(start(calls[i], algorithm, outputs[i], communicator));
  for (std::size_t i = calls.size(); i-- > 0;) requests[i].wait();
  return outputs;
}

/// Some parts of some ranks go wrong, the same ones in every run.
Loss at_random(const Part& part) {
  const std::uint64_t mixed = (part.call * 31 + std::uint64_t(part.round) * 7 + part.number * 13 +
                               std::uint64_t(part.rank)) *
                              0x9e3779b97f4a7c15u;
  return mixed >> 59 == 0 ? Loss::contribution : mixed >> 59 == 1 ? Loss::sum : Loss::none;
}

TEST(OffloadedCalls, InFlightWhileTheAggregatorFails) {
  for (int ranks : {2, 3, 5}) {
    const Watchdog watchdog("calls in flight, " + std::to_string(ranks) + " ranks");
    const auto calls = calls_of(ranks, 60);
    std::vector<Bytes> expected;
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      auto found = all_at_once(calls, "direct", communicator);
      if (rank == 0) expected = std::move(found);
    });
    const auto faults = std::make_shared<AggregatorFaults>();
    faults->loss = at_random;
    const LoopbackOptions weathers[] = {
        {.faults = faults},
        {.eager_limit = 0, .preferred_message_bytes = 256, .faults = faults},
        {.eager_limit = 0, .delay = 128, .seed = 61, .faults = faults}};
    for (const LoopbackOptions& weather : weathers)
      on_ranks(ranks, weather, [&](int rank, Communicator& communicator) {
        const auto found = all_at_once(calls, "offload", communicator);
        for (std::size_t i = 0; i < calls.size(); ++i)
          EXPECT_TRUE(same_bytes(found[i], expected[i]))
              << "call " << i << " on rank " << rank << ", " << calls[i].codec << " "
              << calls[i].inputs.name() << ", delays seeded " << weather.seed;
        EXPECT_GT(communicator.offload_counters().repeated, 0u);
      });
  }
}

TEST(OffloadedCalls, StayAwayFromADeadAggregatorAndComeBack) {
  constexpr int ranks = 3;
  const Watchdog watchdog("death and return");
  const RankInputs inputs(ranks, ElementType::f32, 5003, 71);
  const auto faults = std::make_shared<AggregatorFaults>();
  std::vector<OffloadCounters> counters;
  std::vector<std::size_t> results(3);
  on_ranks(ranks, {.faults = faults}, [&](int rank, Communicator& communicator) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                       {.codec = "thc:error_feedback=on", .algorithm = "offload"});
    Bytes output(inputs.bytes(rank).size());
    const auto call = [&] { plan.execute(inputs.bytes(rank).data(), output.data()); };
    // An allreduce of something else: behind it no rank is in an offloaded call.
    const auto together = [&](const std::function<void()>& action) {
      float one = 1;
      allreduce(std::span(&one, 1), communicator, {.codec = "raw", .algorithm = "tree"});
      if (rank == 0) action();
      allreduce(std::span(&one, 1), communicator, {.codec = "raw", .algorithm = "tree"});
    };
    for (int i = 0; i < 3; ++i) call();
    together([&] { counters.push_back(communicator.offload_counters()), faults->dead = true; });
    for (int i = 0; i < 3; ++i) call();
    together([&] { counters.push_back(communicator.offload_counters()), faults->dead = false; });
    for (int i = 0; i < 3; ++i) call();
    together([&] { counters.push_back(communicator.offload_counters()); });
    results[std::size_t(rank)] = hash_of(output);
  });
  EXPECT_EQ(counters[0].offloaded, 3u);
  EXPECT_EQ(counters[1].declined, 3u) << "it was dead before they started";
  EXPECT_EQ(counters[2].offloaded, 6u);
  EXPECT_EQ(counters[2].repeated, 0u);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

/// Dies while calls are under way: those end well, the next ones stay away, later ones come back.
TEST(OffloadedCalls, SurviveADeathInTheMiddle) {
  constexpr int ranks = 4;
  const Watchdog watchdog("death in the middle");
  const RankInputs inputs(ranks, ElementType::f32, 20011, 72);
  const auto faults = std::make_shared<AggregatorFaults>();
  std::atomic<int> parts = 0;
  faults->loss = [&parts, deadly = faults.get()](const Part&) {
    if (++parts == 300) deadly->dead = true;
    return Loss::none;
  };
  const Options options{.codec = "thc:dither=nearest", .algorithm = "offload", .segment = 1024};
  Bytes expected;
  on_ranks(ranks, {.faults = faults}, [&](int rank, Communicator& communicator) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), options);
    Bytes output(inputs.bytes(rank).size());
    for (int i = 0; i < 60; ++i) {
      plan.reset_state();
      plan.execute(inputs.bytes(rank).data(), output.data());
      if (i == 0 && rank == 0) expected = output;
      if (i == 10 && rank == 2) faults->dead = false;
    }
    EXPECT_TRUE(rank != 0 || same_bytes(output, expected));
    const OffloadCounters counters = communicator.offload_counters();
    EXPECT_GE(counters.repeated, 1u);
    EXPECT_GE(counters.declined, 1u);
    EXPECT_GT(counters.offloaded, 20u) << "calls came back";
  });
}

/// The text of the error that all ranks get.
std::string refusal(const LoopbackOptions& loopback, const std::function<Options(int)>& options) {
  std::vector<std::string> texts(3);
  on_ranks(3, loopback, [&](int rank, Communicator& communicator) {
    std::vector<float> data(10000, 1.0f);
    try {
      allreduce(std::span(data), communicator, options(rank));
    } catch (const Error& error) {
      texts[std::size_t(rank)] = error.what();
    }
    allreduce(std::span(data), communicator, {.codec = "raw", .algorithm = "ring"});
  });
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
  return texts[0];
}

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(OffloadedCalls, RefuseWhatCannotBeOffloaded) {
  expect_text(refusal({}, [](int) { return Options{.codec = "packed", .algorithm = "offload"}; }),
              "algorithm offload cannot merge by add_packed; take ring");
  expect_text(refusal({},
                      [](int) {
                        return Options{
                            .codec = "thc", .algorithm = "offload", .aggregator = "nowhere:1"};
                      }),
              "aggregator nowhere:1 is unknown; the only one is loopback");
  expect_text(
      refusal({},
              [](int rank) {
                return Options{.codec = "thc",
                               .algorithm = "offload",
                               .aggregator = rank == 1 ? "loopback" : ""};
              }),
      "ranks disagree on algorithm (rank 1: \"offload by loopback\"; the other 2: \"offload\")");
  EXPECT_EQ(refusal({}, [](int) { return Options{.codec = "packed"}; }), "") << "auto knows";
  EXPECT_EQ(refusal({}, [](int) { return Options{.codec = "thc", .aggregator = "loopback"}; }), "");
}

struct Automatic {
  const char* codec;
  const char* algorithm;      ///< that `auto` takes for 64 KiB
  const char* not_offloaded;  ///< a part of the reason; null: none
};

/// An aggregator that comes and goes is asked for nothing that another one in its place may not
/// have.
TEST(OffloadedCalls, AutoTakesWhatEveryAggregatorMerges) {
  const Automatic cases[] = {{"thc", "offload", nullptr},
                             {"signcount", "offload", nullptr},
                             {"marsit", "offload", nullptr},
                             {"sketch", "offload", nullptr},
                             {"sketch:cells=f32", "direct", "merges by add_float of f32"},
                             {"sparse", "direct", "merges by add_float of f32"},
                             {"raw", "direct", "not every aggregator merges by add_float of f32"},
                             {"packed", "direct", "no aggregator merges by add_packed"}};
  on_ranks(3, [&](int, Communicator& communicator) {
    const auto describe = [&](const char* codec, const char* algorithm, std::size_t count) {
      return AllreducePlan(communicator, count, ElementType::f32,
                           {.codec = codec, .algorithm = algorithm})
          .describe();
    };
    for (const Automatic& expected : cases) {
      const PlanDescription found = describe(expected.codec, "auto", 16384);
      EXPECT_EQ(found.algorithm, expected.algorithm) << expected.codec;
      if (expected.not_offloaded == nullptr)
        EXPECT_EQ(found.not_offloaded, "") << expected.codec;
      else
        expect_text(found.not_offloaded, expected.not_offloaded);
    }
    EXPECT_EQ(describe("raw", "auto", 2 << 20).algorithm, "ring");
    EXPECT_EQ(describe("raw", "auto", 100).not_offloaded, "") << "too short anyway";
    EXPECT_EQ(describe("raw", "offload", 16384).algorithm, "offload") << "asked for";
    const AllreducePlan checked(communicator, 16384, ElementType::f32,
                                {.codec = "thc", .algorithm = "auto", .checksum = "on"});
    EXPECT_NE(checked.describe().algorithm, "offload");
    expect_text(checked.describe().not_offloaded, "checksum=on is for messages between ranks");
  });
}

TEST(OffloadedCalls, NeedAnAggregator) {
  LoopbackHub hub(2);
  on_ranks(2, [&](int rank, Communicator&) {
    Communicator bare(hub.transport(rank));
    std::vector<float> data(10000, 1.0f);
    for (const char* address : {"", "host:1"}) {
      try {
        allreduce(std::span(data), bare,
                  {.codec = "thc", .algorithm = "offload", .aggregator = address});
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        expect_text(error.what(), *address == '\0' ? "offload needs an aggregator; give its address"
                                                   : "has no way to connect to aggregators");
      }
    }
    allreduce(std::span(data), bare, {.codec = "thc"});
  });
}

TEST(OffloadedCalls, OneRankNeedsNobody) {
  on_ranks(1, [](int, Communicator& communicator) {
    AllreducePlan plan(communicator, 10000, ElementType::f32,
                       {.codec = "thc", .algorithm = "offload"});
    EXPECT_EQ(plan.describe().algorithm, "direct");
    EXPECT_EQ(plan.describe().other_algorithm, "");
  });
}

}  // namespace
}  // namespace cohom::test
