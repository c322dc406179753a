// Plans in use: started, tested, moved, several at once, destroyed while in flight.

#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
const Options thc{.codec = "thc", .algorithm = "ring", .segment = 256};

AllreducePlan make_plan(Communicator& communicator, const RankInputs& inputs,
                        const Options& options = thc) {
  return {communicator, inputs.count(), inputs.type(), options};
}

/// What the first call of a fresh plan gives.
Bytes first_result(const RankInputs& inputs, const Options& options = thc) {
  Bytes result(inputs.bytes(0).size());
  on_ranks(inputs.ranks(), [&](int rank, Communicator& communicator) {
    Bytes output(result.size());
    make_plan(communicator, inputs, options).execute(inputs.bytes(rank).data(), output.data());
    if (rank == 0) result = output;
  });
  return result;
}

/// For errors that all ranks share, `words` of the error's text.
template <class Body>
void expect_state_error(Body&& body, const std::string& words = {}) {
  try {
    body();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::state) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(Plan, GivesWhatAllreduceGives) {
  // Step 0 of a plan and call 0 of a communicator draw the same random numbers.
  for (const char* codec : {"raw", "thc", "thc:dither=independent"})
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
      const RankInputs inputs(ranks, ElementType::f32, 3001);
      const Options options{.codec = codec, .algorithm = "direct", .op = op};
      const Bytes expected = first_result(inputs, options);
      on_ranks(ranks, [&](int rank, Communicator& communicator) {
        const auto* input = reinterpret_cast<const float*>(inputs.bytes(rank).data());
        std::vector<float> output(inputs.count());
        allreduce(std::span(input, inputs.count()), std::span(output), communicator, options);
        EXPECT_TRUE(same_bytes(std::as_bytes(std::span(output)), expected)) << codec;
      });
    }
}

TEST(Plan, EveryCallDrawsAnew) {
  const RankInputs inputs(ranks, ElementType::f32, 3001);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    AllreducePlan plan = make_plan(communicator, inputs);
    std::vector<Bytes> results(4, Bytes(inputs.bytes(rank).size()));
    for (Bytes& result : results) plan.execute(inputs.bytes(rank).data(), result.data());
    plan.reset_state();
    Bytes again(results[0].size());
    plan.execute(inputs.bytes(rank).data(), again.data());
    EXPECT_FALSE(same_bytes(results[1], results[0])) << "both steps drew the same random numbers";
    EXPECT_TRUE(same_bytes(again, results[0]));
  });
}

TEST(Plan, SeveralInFlight) {
  const Watchdog watchdog("plans in flight");
  std::vector<RankInputs> inputs;
  std::vector<Bytes> expected;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    inputs.emplace_back(ranks, ElementType::f32, 700 * seed, seed);
    expected.push_back(first_result(inputs.back()));
  }
  const LoopbackOptions rough{.eager_limit = 0, .delay = 100, .seed = 31};
  on_ranks(ranks, rough, [&](int rank, Communicator& communicator) {
    std::vector<AllreducePlan> plans;
    for (const RankInputs& each : inputs) plans.push_back(make_plan(communicator, each));
    std::vector<Bytes> outputs;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      outputs.emplace_back(expected[i].size());
      plans[i].start(inputs[i].bytes(rank).data(), outputs[i].data());
    }
    const auto wait = [](AllreducePlan& plan) { plan.wait(); };
    if (rank == 0)
      std::for_each(plans.rbegin(), plans.rend(), wait);
    else
      std::for_each(plans.begin(), plans.end(), wait);
    for (std::size_t i = 0; i < plans.size(); ++i)
      EXPECT_TRUE(same_bytes(outputs[i], expected[i])) << "plan " << i << " rank " << rank;
  });
}

/// Whether a call is over already depends on timing, and differs between ranks: only the caller's
/// own wait() or test() may end it, or one rank would start what another refuses.
TEST(Plan, StartTwiceWithoutWaitIsAnErrorOnAllRanks) {
  const Watchdog watchdog("start twice");
  const RankInputs inputs(ranks, ElementType::f32, 3001);
  const Bytes expected = first_result(inputs);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    AllreducePlan plan = make_plan(communicator, inputs);
    const Bytes& input = inputs.bytes(rank);
    Bytes output(input.size());
    plan.start(input.data(), output.data());
    expect_state_error([&] { plan.start(input.data(), output.data()); });
    while (output != expected) communicator.progress();
    for (int i = 0; i < 1000; ++i) communicator.progress();
    expect_state_error([&] { plan.start(input.data(), output.data()); });
    expect_state_error([&] { plan.reset_state(); });
    expect_state_error([&] { plan.restore_state({}); });
    expect_state_error([&] { (void)plan.save_state(); });
    plan.wait();
    plan.wait();  // nothing is in flight
    EXPECT_TRUE(plan.test());
    EXPECT_TRUE(same_bytes(output, expected));
    plan.start(input.data(), output.data());
    while (!plan.test()) std::this_thread::yield();
    plan.execute(input.data(), output.data());
  });
}

TEST(Plan, MovesWhileInFlight) {
  const Watchdog watchdog("moved plan");
  const RankInputs inputs(ranks, ElementType::f32, 3001);
  const RankInputs others(ranks, ElementType::f32, 500);
  const Bytes expected = first_result(inputs);
  on_ranks(ranks, {.delay = 64}, [&](int rank, Communicator& communicator) {
    AllreducePlan first = make_plan(communicator, inputs);
    Bytes output(expected.size());
    first.start(inputs.bytes(rank).data(), output.data());
    AllreducePlan second = std::move(first);
    AllreducePlan third = make_plan(communicator, others);
    Bytes dropped(others.bytes(rank).size());
    third.start(others.bytes(rank).data(), dropped.data());
    third = std::move(second);  // waits for the call it drops
    third.wait();
    EXPECT_TRUE(same_bytes(output, expected));
  });
}

TEST(Plan, DestroyedWhileInFlightCompletes) {
  const Watchdog watchdog("destroyed plan");
  const RankInputs inputs(ranks, ElementType::f32, 3001);
  const Bytes expected = first_result(inputs);
  on_ranks(ranks, {.eager_limit = 0, .delay = 64}, [&](int rank, Communicator& communicator) {
    Bytes output(expected.size());
    make_plan(communicator, inputs).start(inputs.bytes(rank).data(), output.data());
    EXPECT_TRUE(same_bytes(output, expected));
    Bytes again(expected.size());
    make_plan(communicator, inputs).execute(inputs.bytes(rank).data(), again.data());
    EXPECT_TRUE(same_bytes(again, expected));
  });
}

TEST(Plan, StartTwiceOnOneRankReachesTheOthers) {
  const Watchdog watchdog("start twice on one rank");
  const RankInputs inputs(ranks, ElementType::f32, 3001);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& input = inputs.bytes(rank);
    Bytes first(input.size()), second(input.size()), expected(input.size());
    for (const char* codec : {"thc", "thc:error_feedback=on"}) {
      const Options options{.codec = codec, .algorithm = "ring", .segment = 256};
      AllreducePlan plan = make_plan(communicator, inputs, options);
      AllreducePlan right = make_plan(communicator, inputs, options);
      plan.start(input.data(), first.data());
      const std::string words = "the plan has a call in flight";
      if (rank == 1) {
        expect_state_error([&] { plan.start(input.data(), second.data()); }, words);
        plan.wait();
      } else {
        plan.wait();
        plan.start(input.data(), second.data());
        expect_state_error([&] { plan.wait(); }, words);
      }
      // Nothing of it is left: the next call is the second step on all ranks.
      plan.execute(input.data(), second.data());
      for (int step = 0; step < 2; ++step) right.execute(input.data(), expected.data());
      EXPECT_TRUE(same_bytes(second, expected)) << codec;
    }
  });
}

TEST(Plan, DescribesWhatWasDecided) {
  LoopbackHub hub(2);
  on_ranks(2, [&](int rank, Communicator&) {
    Communicator communicator(hub.transport(rank));
    const AllreducePlan large(communicator, 1 << 20, ElementType::f32, {.codec = "thc:bits=4"});
    const PlanDescription chosen = large.describe();
    EXPECT_EQ(chosen.codec, "thc");  // a default, spelled out
    EXPECT_EQ(chosen.algorithm, "direct");
    EXPECT_FALSE(chosen.bypass);
    EXPECT_FALSE(chosen.reason.empty());
    EXPECT_GT(chosen.workspace_bytes, 0u);
    EXPECT_EQ(chosen.agreement_rounds, 1u);  // the scales of blocks
    const AllreducePlan small(communicator, 100, ElementType::f32, {.codec = "thc:bits=4"});
    EXPECT_EQ(small.describe().codec, "raw");
    EXPECT_EQ(small.describe().algorithm, "recursive_doubling");
    EXPECT_TRUE(small.describe().bypass);
    EXPECT_EQ(small.describe().agreement_rounds, 0u);
    const AllreducePlan exacting(communicator, 1 << 20, ElementType::f32,
                                 {.codec = "auto:nmse=1e-3"});
    EXPECT_EQ(exacting.describe().codec, "packed:nmse=1e-3");
    EXPECT_EQ(exacting.describe().agreement_rounds, 2u);  // magnitudes, and energy
    const AllreducePlan stateful(communicator, 1000, ElementType::f64,
                                 {.codec = "thc:error_feedback=on", .algorithm = "tree"});
    EXPECT_EQ(stateful.describe().state_bytes, 8000u);
    const AllreducePlan whole(
        communicator, 1000, ElementType::f32,
        {.codec = "raw", .algorithm = "ring", .segment = std::numeric_limits<std::size_t>::max()});
    EXPECT_EQ(whole.describe().segment, std::size_t{1} << 26) << "more does not fit the counters";
  });
}

/// What no codec keeps, or does not say what to keep, is an error of all ranks before any message.
TEST(Plan, WrongNmseIsAnErrorOnAllRanks) {
  on_ranks(ranks, [&](int, Communicator& communicator) {
    for (const char* codec : {"auto", "auto:nmse=1e-9", "thc:nmse=1e-6", "packed:nmse=1e-9"}) {
      try {
        const AllreducePlan plan(communicator, 5000, ElementType::bf16, {.codec = codec});
        ADD_FAILURE() << codec;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
        EXPECT_NE(std::string(error.what()).find("give "), std::string::npos) << error.what();
      }
    }
  });
}

/// Nobody else may ever start again: the rank must not wait for them.
TEST(Plan, StartTwiceThatNobodyHearsDoesNotHang) {
  const Watchdog watchdog("start twice, unheard");
  const RankInputs inputs(ranks, ElementType::f32, 3001);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    AllreducePlan plan = make_plan(communicator, inputs);
    Bytes output(inputs.bytes(rank).size());
    plan.start(inputs.bytes(rank).data(), output.data());
    if (rank == 1)
      expect_state_error([&] { plan.start(inputs.bytes(rank).data(), output.data()); });
    plan.wait();
  });
}

}  // namespace
}  // namespace cohom::test
