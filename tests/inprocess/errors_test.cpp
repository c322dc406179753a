// Wrong calls through the C++ API: whatever is wrong on whichever rank, all ranks get the error
// within a second, it says what is wrong and what would be right, nothing is remembered of the
// call, and the next correct call works.

#include "bad_calls.hpp"
#include "codec_specs.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::chrono::seconds patience{20};
#else
constexpr std::chrono::seconds patience{1};
#endif

/// A correct call with state: what it gives depends on all correct calls before it, and on no
/// other.
Bytes call_with_state(Communicator& communicator, const RankInputs& inputs) {
  Bytes output(inputs.bytes(0).size());
  allreduce(inputs.bytes(communicator.rank()).data(), output.data(), inputs.count(), inputs.type(),
            communicator,
            {.codec = "thc:error_feedback=on", .algorithm = "ring", .buffer = "kept"});
  return output;
}

std::optional<Error> error_of(const BadCall& bad, int rank, Communicator& communicator) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Error> error;
  try {
    bad.call(rank, communicator);
  } catch (const Error& thrown) {
    error = thrown;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, patience) << "rank " << rank;
  return error;
}

void expect_words(const BadCall& bad, const Error& error, int rank) {
  EXPECT_EQ(error.kind(), bad.kind) << error.what();
  for (const std::string& word : bad.words)
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
        << "no \"" << word << "\" on rank " << rank << " in: " << error.what();
}

/// Between two correct calls with state, the bad one must leave no trace.
void expect_error_everywhere(const BadCall& bad, int ranks) {
  const Watchdog watchdog(bad.name);
  const RankInputs inputs(ranks, ElementType::f32, 1001);
  std::vector<Bytes> undisturbed(2);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes first = call_with_state(communicator, inputs);
    const Bytes second = call_with_state(communicator, inputs);
    if (rank == 0) undisturbed = {first, second};
  });

  std::vector<std::optional<Error>> errors(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    EXPECT_TRUE(same_bytes(call_with_state(communicator, inputs), undisturbed[0]));
    const auto state = communicator.save_state("kept");
    errors[std::size_t(rank)] = error_of(bad, rank, communicator);
    EXPECT_TRUE(same_bytes(communicator.save_state("kept"), state)) << "state was touched";
    EXPECT_TRUE(same_bytes(call_with_state(communicator, inputs), undisturbed[1]));
  });

  for (int rank = 0; rank < ranks; ++rank) {
    const auto& error = errors[std::size_t(rank)];
    ASSERT_TRUE(error) << "no error on rank " << rank;
    expect_words(bad, *error, rank);
    EXPECT_STREQ(error->what(), errors[0]->what()) << "ranks heard different things";
  }
}

class WrongCalls : public testing::TestWithParam<BadCall> {};

TEST_P(WrongCalls, AreTheSameErrorOnAllRanks) {
  for (int ranks : {2, 3, 7}) expect_error_everywhere(GetParam(), ranks);
}

INSTANTIATE_TEST_SUITE_P(Disagreement, WrongCalls, testing::ValuesIn(disagreements()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Argument, WrongCalls, testing::ValuesIn(wrong_arguments()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Plan, WrongCalls, testing::ValuesIn(wrong_plans()),
                         [](const auto& test) { return test.param.name; });

TEST(WrongCalls, OnOneRankAlone) {
  for (auto bad : wrong_arguments()) {
    // There is nobody else to tell, and no rank to name.
    std::erase_if(bad.words, [](const std::string& word) { return word.starts_with("rank "); });
    expect_error_everywhere(bad, 1);
  }
}

TEST(WrongCalls, TheLowestOfSeveralFailingRanksIsHeard) {
  const BadCall bad{"several",
                    ErrorKind::invalid_argument,
                    {"rank 1: ", "output is null"},
                    [](int rank, Communicator& communicator) {
                      std::vector<float> data(100);
                      if (rank == 0)
                        allreduce(std::span(data), communicator);
                      else if (rank == 1)
                        allreduce(data.data(), nullptr, 100, ElementType::f32, communicator);
                      else
                        allreduce(std::span(data), communicator, {.codec = "nonsense"});
                    }};
  expect_error_everywhere(bad, 4);
}

/// What no memory holds is said at once, whatever the codec reckons before it asks for memory.
TEST(WrongCalls, AbsurdCountsOfEveryCodec) {
  for (const CodecSpec& codec : specs_for(2))
    for (const std::size_t absurd : {std::size_t{1} << 50, (std::size_t{1} << 61) - 1}) {
      const std::string spec(codec.spec);
      const auto call = [=](int, Communicator& communicator) {
        float data = 1;
        allreduce(&data, &data, absurd, ElementType::f32, communicator,
                  {.codec = spec, .algorithm = "ring", .buffer = "absurd"});
      };
      const BadCall bad{spec, ErrorKind::memory, {"out of memory"}, call};
      SCOPED_TRACE(spec + " of " + std::to_string(absurd));
      expect_error_everywhere(bad, 2);
    }
}

/// Two spellings of one codec are no disagreement.
TEST(WrongCalls, SpellingIsNotOne) {
  on_ranks(2, [](int rank, Communicator& communicator) {
    std::vector<float> data(1000, 1.0f);
    allreduce(std::span(data), communicator,
              {.codec = rank == 0 ? "thc" : "thc:scale=block,bits=4", .algorithm = "tree"});
  });
}

/// Several wrong calls in flight at once, between right ones.
TEST(WrongCalls, InFlightTogether) {
  const Watchdog watchdog("wrong calls in flight");
  on_ranks(3, {.eager_limit = 0, .delay = 64}, [](int rank, Communicator& communicator) {
    const auto algorithms = algorithm_table();
    std::vector<float> input(500, 1.0f);
    std::vector<std::vector<float>> outputs(20, std::vector<float>(500));
    std::vector<Request> requests;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool wrong = i % 3 == 1 && rank == int(i % 2);
      requests.push_back(allreduce_start(
          wrong ? nullptr : input.data(), outputs[i].data(), 500, ElementType::f32, communicator,
          {.codec = "raw", .algorithm = std::string(algorithms[i / 3 % algorithms.size()].name)}));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i % 3 == 1) {
        EXPECT_THROW(requests[i].wait(), Error);
        EXPECT_EQ(outputs[i], std::vector<float>(500)) << "a refused call wrote";
      } else {
        requests[i].wait();
        EXPECT_EQ(outputs[i], std::vector<float>(500, 3.0f)) << "call " << i;
      }
    }
  });
}

TEST(WrongCalls, EnvironmentVariablesAreCheckedLikeOptions) {
  const auto error_with = [](const char* variable, const char* value) {
    setenv(variable, value, 1);
    std::string text;
    on_ranks(2, [&](int rank, Communicator& communicator) {
      std::vector<float> data(10);
      try {
        allreduce(std::span(data), communicator);
      } catch (const Error& error) {
        if (rank == 0) text = error.what();
      }
    });
    unsetenv(variable);
    return text;
  };
  EXPECT_NE(error_with("COHOM_SEGMENT", "many").find("COHOM_SEGMENT=many"), std::string::npos);
  EXPECT_NE(
      error_with("COHOM_PLAN_MEMORY", "1g").find("COHOM_PLAN_MEMORY=1g is no number of bytes"),
      std::string::npos);
  EXPECT_NE(error_with("COHOM_CODEC", "thx").find("did you mean thc"), std::string::npos);
  EXPECT_NE(error_with("COHOM_ALGORITHM", "rong").find("did you mean ring"), std::string::npos);
  EXPECT_EQ(error_with("COHOM_CODEC", "raw"), "");
}

/// So that its calls go by the same, whatever plans they find made.
TEST(WrongCalls, EnvironmentVariablesAreReadWhenACommunicatorIsMade) {
  LoopbackHub hub(1), other_hub(1);
  std::vector<float> data(10);
  Communicator before(hub.transport(0));
  setenv("COHOM_CODEC", "thx", 1);
  Communicator behind(other_hub.transport(0));
  EXPECT_NO_THROW(allreduce(std::span(data), before));
  unsetenv("COHOM_CODEC");
  EXPECT_THROW(allreduce(std::span(data), behind), Error);
  EXPECT_NO_THROW(allreduce(std::span(data), behind, {.codec = "raw"}));
}

/// Without an aggregator there is no fabric.
TEST(WrongCalls, FabricWithoutAnAggregator) {
  LoopbackHub hub(2);
  on_ranks(2, [&](int rank, Communicator&) {
    Communicator bare(hub.transport(rank));
    std::vector<float> data(10, 1.0f);
    try {
      allreduce(std::span(data), bare, {.codec = "raw", .algorithm = "fabric"});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(std::string(error.what()).find("fabric needs an aggregator"), std::string::npos);
    }
    allreduce(std::span(data), bare, {.codec = "raw", .algorithm = "ring"});
    EXPECT_EQ(data, std::vector<float>(10, 2.0f));
  });
}

}  // namespace
}  // namespace cohom::test
