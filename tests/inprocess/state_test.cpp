// What is remembered between calls: error feedback of plans and of named buffers, in and out of
// checkpoints, and the steps that seed random draws.

#include "call/communicator_impl.hpp"
#include "environment_variable.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr const char* feedback = "thc:error_feedback=on";

Options named(std::string buffer) {
  return {.codec = feedback, .algorithm = "ring", .segment = 512, .buffer = std::move(buffer)};
}

const Options planned{.codec = feedback, .algorithm = "ring", .segment = 512};

Bytes reduce(Communicator& communicator, const RankInputs& inputs, const Options& options) {
  Bytes output(inputs.bytes(0).size());
  allreduce(inputs.bytes(communicator.rank()).data(), output.data(), inputs.count(), inputs.type(),
            communicator, options);
  return output;
}

Bytes execute(AllreducePlan& plan, const RankInputs& inputs, int rank) {
  Bytes output(inputs.bytes(0).size());
  plan.execute(inputs.bytes(rank).data(), output.data());
  return output;
}

/// Squared error of the running sum of `steps` calls on the same vectors, relative to that of one
/// call's scale.
double running_error(const Options& options, ElementType type, int ranks, int steps) {
  const RankInputs inputs(ranks, type, 3001, 8);
  double error = 0;
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    std::vector<double> running(inputs.count());
    for (int step = 0; step < steps; ++step) {
      const auto values = to_values(type, reduce(communicator, inputs, options));
      for (std::size_t i = 0; i < running.size(); ++i) running[i] += values[i];
    }
    if (rank != 0) return;
    for (std::size_t i = 0; i < running.size(); ++i) {
      const double difference = running[i] - steps * inputs.sum()[i];
      error += difference * difference;
    }
    error /= ranks * double(inputs.count());
  });
  return error;
}

/// With feedback the ranks' last roundings are all that is missing, however many steps there were.
TEST(ErrorFeedback, TracksTheExactSum) {
  for (ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16})
    for (int ranks : {1, 4}) {
      const double with = running_error(named("gradient"), type, ranks, 30);
      const double without =
          running_error({.codec = "thc:dither=nearest", .algorithm = "ring"}, type, ranks, 30);
      EXPECT_LT(with, 0.05) << name_of(type) << " " << ranks << " ranks";
      EXPECT_GT(without, 0.2) << "without feedback there is nothing to see: " << name_of(type);
    }
}

TEST(ErrorFeedback, APlanIsANamedBuffer) {
  const RankInputs inputs(3, ElementType::f32, 3001, 9);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), planned);
    for (int step = 0; step < 4; ++step)
      EXPECT_TRUE(
          same_bytes(execute(plan, inputs, rank), reduce(communicator, inputs, named("gradient"))))
          << "step " << step;
  });
}

TEST(ErrorFeedback, BuffersDoNotMix) {
  const RankInputs first(3, ElementType::f32, 3001, 10);
  const RankInputs second(3, ElementType::f32, 3001, 11);
  const auto alone = [](const RankInputs& inputs) {
    std::vector<Bytes> results;
    on_ranks(3, [&](int rank, Communicator& communicator) {
      for (int step = 0; step < 4; ++step) {
        const Bytes result = reduce(communicator, inputs, named("alone"));
        if (rank == 0) results.push_back(result);
      }
    });
    return results;
  };
  const auto first_alone = alone(first);
  const auto second_alone = alone(second);
  on_ranks(3, [&](int, Communicator& communicator) {
    for (std::size_t step = 0; step < 4; ++step) {
      EXPECT_TRUE(same_bytes(reduce(communicator, first, named("a")), first_alone[step]));
      EXPECT_TRUE(same_bytes(reduce(communicator, second, named("b")), second_alone[step]));
      EXPECT_TRUE(same_bytes(reduce(communicator, first, named("ab")), first_alone[step]));
    }
  });
}

/// The second call needs what the first leaves, so it comes after it even when both were started.
TEST(ErrorFeedback, CallsOfOneBufferFollowEachOther) {
  const Watchdog watchdog("calls of one buffer");
  const RankInputs inputs(3, ElementType::f32, 3001, 12);
  on_ranks(3, {.eager_limit = 0, .delay = 100}, [&](int rank, Communicator& communicator) {
    std::vector<Bytes> outputs(3, Bytes(inputs.bytes(rank).size()));
    std::vector<Request> requests;
    for (Bytes& output : outputs)
      requests.push_back(allreduce_start(inputs.bytes(rank).data(), output.data(), inputs.count(),
                                         inputs.type(), communicator, named("started")));
    for (Request& request : requests) request.wait();
    for (const Bytes& output : outputs)
      EXPECT_TRUE(same_bytes(output, reduce(communicator, inputs, named("waited"))));
  });
}

/// One step of some owner of state.
using Step = std::function<Bytes()>;

/// `steps` results of a fresh start against those of a start that was interrupted.
void expect_same_continuation(const Step& original, const Step& restored, const char* what) {
  for (int step = 0; step < 3; ++step)
    EXPECT_TRUE(same_bytes(restored(), original())) << what << ", step " << step;
}

TEST(SavedState, ContinuesBitForBit) {
  const RankInputs inputs(3, ElementType::f32, 3001, 13);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    for (int step = 0; step < 2; ++step) reduce(communicator, inputs, named("original"));
    communicator.restore_state("copy", communicator.save_state("original"));
    expect_same_continuation([&] { return reduce(communicator, inputs, named("original")); },
                             [&] { return reduce(communicator, inputs, named("copy")); },
                             "named buffer");
    // A plan without state still counts its steps.
    for (const char* codec : {feedback, "thc", "raw"}) {
      const Options options{.codec = codec, .algorithm = "direct"};
      AllreducePlan original(communicator, inputs.count(), inputs.type(), options);
      for (int step = 0; step < 2; ++step) execute(original, inputs, rank);
      AllreducePlan copy(communicator, inputs.count(), inputs.type(), options);
      copy.restore_state(original.save_state());
      expect_same_continuation([&] { return execute(original, inputs, rank); },
                               [&] { return execute(copy, inputs, rank); }, codec);
    }
  });
}

TEST(SavedState, ResetStartsAgain) {
  const RankInputs inputs(3, ElementType::f32, 3001, 14);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    const Bytes first = reduce(communicator, inputs, named("gradient"));
    EXPECT_FALSE(same_bytes(reduce(communicator, inputs, named("gradient")), first));
    communicator.reset_state("gradient");
    communicator.reset_state("never used");
    EXPECT_TRUE(same_bytes(reduce(communicator, inputs, named("gradient")), first));
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), planned);
    EXPECT_TRUE(same_bytes(execute(plan, inputs, rank), first));
    execute(plan, inputs, rank);
    plan.reset_state();
    EXPECT_TRUE(same_bytes(execute(plan, inputs, rank), first));
    // After a reset the name is free for another vector.
    const RankInputs longer(3, ElementType::f32, 4000, 15);
    communicator.reset_state("gradient");
    reduce(communicator, longer, named("gradient"));
  });
}

TEST(SavedState, WrongBytesAreRefusedAndChangeNothing) {
  const RankInputs inputs(2, ElementType::f32, 1000, 16);
  const RankInputs others(2, ElementType::f32, 999, 16);
  on_ranks(2, [&](int rank, Communicator& communicator) {
    EXPECT_THROW((void)communicator.save_state("never used"), Error);
    reduce(communicator, inputs, named("gradient"));
    const auto saved = communicator.save_state("gradient");
    auto damaged = saved;
    damaged[0] ^= std::byte{1};
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), planned);
    AllreducePlan other(communicator, others.count(), inputs.type(), planned);
    const auto fresh = plan.save_state();
    const std::span<const std::byte> whole(saved);
    for (const auto wrong : {std::span<const std::byte>(), whole.first(10),
                             whole.first(whole.size() - 1), std::span<const std::byte>(damaged)}) {
      EXPECT_THROW(communicator.restore_state("gradient", wrong), Error);
      EXPECT_THROW(plan.restore_state(wrong), Error);
    }
    EXPECT_THROW(other.restore_state(saved), Error) << "state of another vector";
    EXPECT_TRUE(same_bytes(communicator.save_state("gradient"), saved));
    EXPECT_TRUE(same_bytes(plan.save_state(), fresh));
    EXPECT_NO_THROW(plan.restore_state(saved)) << "a named buffer's state is a plan's state";
    execute(plan, inputs, rank);
  });
}

/// Ranks that restored different checkpoints must hear of it.
TEST(SavedState, OfAnotherStepOnOneRankIsAMismatch) {
  const RankInputs inputs(3, ElementType::f32, 1000, 17);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    reduce(communicator, inputs, named("gradient"));
    const auto early = communicator.save_state("gradient");
    const Bytes expected = reduce(communicator, inputs, named("gradient"));
    const auto late = communicator.save_state("gradient");
    if (rank == 1) communicator.restore_state("gradient", early);
    try {
      reduce(communicator, inputs, named("gradient"));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::mismatch);
      EXPECT_NE(std::string(error.what())
                    .find("step (rank 1: 1; the other 2: 2): restore or reset the state"),
                std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(same_bytes(communicator.save_state("gradient"), rank == 1 ? early : late));
    communicator.restore_state("gradient", early);
    EXPECT_TRUE(same_bytes(reduce(communicator, inputs, named("gradient")), expected));
  });
}

/// `auto` sends short vectors raw, so whether a call was right depended on its length.
TEST(ErrorFeedback, WantsANameAtEveryLength) {
  for (const int ranks : {1, 3})
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{100000}})
      on_ranks(ranks, [&](int, Communicator& communicator) {
        std::vector<float> data(count);
        try {
          allreduce(std::span(data), communicator, {.codec = feedback});
          ADD_FAILURE() << "no error with " << count << " elements";
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
          EXPECT_NE(std::string(error.what()).find("codec thc:error_feedback=on keeps state"),
                    std::string::npos)
              << error.what();
        }
        allreduce(std::span(data), communicator, {.codec = feedback, .buffer = "named"});
      });
}

TEST(SavedState, OfBuffersThatGoRaw) {
  const RankInputs inputs(2, ElementType::f32, 100);
  const Options options{.codec = feedback, .buffer = "short"};
  on_ranks(2, [&](int, Communicator& communicator) {
    reduce(communicator, inputs, options);
    reduce(communicator, inputs, options);
    const auto saved = communicator.save_state("short");
    communicator.reset_state("short");
    EXPECT_THROW((void)communicator.save_state("short"), Error);
    communicator.restore_state("short", saved);
    EXPECT_TRUE(same_bytes(communicator.save_state("short"), saved));
    reduce(communicator, inputs, options);
  });
}

/// What a rank lacks of the sum so far is its own: other ranks cannot make up for it.
TEST(SavedState, OfAnotherNumberOfRanksIsRefused) {
  const RankInputs inputs(4, ElementType::f32, 1000);
  std::vector<std::vector<std::byte>> named_states(3), plan_states(3);
  on_ranks(3, [&](int rank, Communicator& communicator) {
    const RankInputs three(3, ElementType::f32, 1000);
    reduce(communicator, three, named("gradient"));
    named_states[std::size_t(rank)] = communicator.save_state("gradient");
    AllreducePlan plan(communicator, 1000, ElementType::f32, planned);
    execute(plan, three, rank);
    plan_states[std::size_t(rank)] = plan.save_state();
  });
  const auto expect_refusal = [](auto&& function) {
    try {
      function();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("on 3 ranks"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("on 4 ranks"), std::string::npos) << error.what();
    }
  };
  on_ranks(4, [&](int rank, Communicator& communicator) {
    communicator.restore_state("gradient", named_states[std::size_t(rank % 3)]);
    expect_refusal([&] { reduce(communicator, inputs, named("gradient")); });
    AllreducePlan plan(communicator, 1000, ElementType::f32, planned);
    expect_refusal([&] { plan.restore_state(plan_states[std::size_t(rank % 3)]); });
  });
}

TEST(PlanCache, IsBoundedAndDoesNotCountSteps) {
  const RankInputs inputs(2, ElementType::f32, 3000, 18);
  const Options options{.codec = "thc", .algorithm = "direct"};
  const auto last_of = [&](std::function<std::size_t(std::size_t call)> segment_of) {
    Bytes result;
    on_ranks(2, [&](int rank, Communicator& communicator) {
      std::vector<float> data(5, 1.0f);
      for (std::size_t call = 0; call < 2 * PlanCache::max_plans; ++call) {
        allreduce(std::span(data), communicator, {.codec = "raw", .segment = segment_of(call)});
        EXPECT_LE(communicator.impl().plans().size(), PlanCache::max_plans);
      }
      const Bytes last = reduce(communicator, inputs, options);
      if (rank == 0) result = last;
    });
    return result;
  };
  const Bytes with_hits = last_of([](std::size_t) { return 512u; });
  const Bytes without = last_of([](std::size_t call) { return 512 + call; });
  EXPECT_TRUE(same_bytes(without, with_hits));
}

/// Vectors that travel with the words: what would be decided for one is decided for all.
TEST(PlanCache, ServesShortVectorsOfAllLengthsByOnePlan) {
  for (const int ranks : {2, 3, 9}) {
    const RankInputs inputs(ranks, ElementType::f32, 4096, 21);
    const auto check = [&](int rank, Communicator& communicator, std::size_t count,
                           const Options& options) {
      std::vector<float> input(count), output(count);
      if (count != 0) std::memcpy(input.data(), inputs.bytes(rank).data(), count * sizeof(float));
      const std::size_t plans = communicator.impl().plans().size();
      allreduce(std::span<const float>(input), std::span(output), communicator, options);
      const double divisor = options.op == ReduceOp::mean ? ranks : 1;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i)
        wrong += std::abs(output[i] - inputs.sum()[i] / divisor) > 1e-5 * ranks;
      EXPECT_EQ(wrong, 0u) << count << " elements";
      return communicator.impl().plans().size() - plans;
    };
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const Options thc{.codec = "thc"};
      EXPECT_EQ(check(rank, communicator, 1, thc), 1u);
      for (const std::size_t count : {4096, 0, 7, 4095, 1, 2500})
        EXPECT_EQ(check(rank, communicator, count, thc), 0u) << count;
      // Another kind has another, and so has a vector that is too long.
      EXPECT_EQ(check(rank, communicator, 7, {.codec = "thc", .op = ReduceOp::mean}), 1u);
      EXPECT_EQ(check(rank, communicator, 9, {.codec = "raw"}), 1u);
      EXPECT_EQ(check(rank, communicator, 2500, {.codec = "thc", .op = ReduceOp::mean}), 0u);
      EXPECT_EQ(check(rank, communicator, 4096, {.codec = "raw"}), 0u);
      // Not one whose call is under way.
      std::vector<float> held(5, 1.0f), other(6, 2.0f);
      Request request = allreduce_start(held.data(), held.data(), held.size(), ElementType::f32,
                                        communicator, thc);
      const std::size_t plans = communicator.impl().plans().size();
      allreduce(std::span(other), communicator, thc);
      EXPECT_EQ(communicator.impl().plans().size(), plans + 1);
      request.wait();
      EXPECT_EQ(held, std::vector<float>(5, static_cast<float>(ranks)));
      EXPECT_EQ(other, std::vector<float>(6, static_cast<float>(2 * ranks)));
      EXPECT_EQ(check(rank, communicator, 4096, thc), 0u);
    });
  }
}

/// What belongs to one length stays there, and what is wrong names the length of the call.
TEST(PlanCache, ServesNoOtherLengthWhereItsStateOrCodecIsOfOne) {
  on_ranks(2, [&](int rank, Communicator& communicator) {
    const std::size_t lengths[] = {40, 50};
    for (const std::string codec : {"thc:error_feedback=on", "auto:nmse=1e-3"}) {
      for (const std::size_t count : lengths) {
        std::vector<float> data(count, 1.0f);
        const std::size_t plans = communicator.impl().plans().size();
        allreduce(std::span(data), communicator,
                  {.codec = codec, .buffer = "b" + std::to_string(count)});
        EXPECT_EQ(data, std::vector<float>(count, 2.0f));
        EXPECT_EQ(communicator.impl().plans().size(), plans + 1) << codec;
      }
    }
    for (const std::size_t count : {std::size_t{30}, std::size_t(31 + rank)}) {
      std::vector<float> data(count, 1.0f);
      try {
        allreduce(std::span(data), communicator, {.codec = "thc"});
        EXPECT_EQ(count, 30u);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::mismatch);
        const std::string text = error.what();
        EXPECT_NE(text.find("count"), std::string::npos) << text;
        EXPECT_NE(text.find("31"), std::string::npos) << text;
        EXPECT_NE(text.find("32"), std::string::npos) << text;
      }
    }
    std::vector<float> data(33, 1.0f);
    allreduce(std::span(data), communicator, {.codec = "thc"});
    EXPECT_EQ(data, std::vector<float>(33, 2.0f));
  });
}

/// One budget for all communicators: the plans of those that rest are the first to go.
TEST(PlanCache, HasOneBudgetInTheProcess) {
  const std::size_t before = plan_memory_use().bytes;
  const EnvironmentVariable budget("COHOM_PLAN_MEMORY",
                                   std::to_string(before + (std::size_t{4} << 20)));
  const RankInputs inputs(2, ElementType::f32, 60'000, 19);
  const Options options{.codec = "exact", .algorithm = "direct"};
  LoopbackHub other_hub(2);
  std::array<std::size_t, 2> most_of_rank{};
  on_ranks(2, [&](int rank, Communicator& resting) {
    Communicator busy = other_hub.communicator(rank);
    const Bytes result = reduce(resting, inputs, options);
    EXPECT_EQ(resting.impl().plans().size(), 1u);
    std::size_t& most = most_of_rank[static_cast<std::size_t>(rank)];
    std::vector<float> data(80'000, 1.0f);
    for (std::size_t count = 79'900; count < 80'000; ++count) {
      allreduce(std::span(data).first(count), busy, options);
      most = std::max(most, busy.impl().plans().size());
    }
    EXPECT_LT(busy.impl().plans().size(), 100u);
    EXPECT_EQ(resting.impl().plans().size(), 0u);
    EXPECT_TRUE(same_bytes(reduce(resting, inputs, options), result));
  });
  // Which rank has room for a second plan depends on who comes first.
  EXPECT_GT(std::ranges::max(most_of_rank), 1u);
  EXPECT_EQ(plan_memory_use().bytes, before);
  // A plan of each rank that is being made is beyond it.
  EXPECT_LT(plan_memory_use().most_bytes, before + (std::size_t{8} << 20));
}

}  // namespace
}  // namespace cohom::test
