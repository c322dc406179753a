// Options::timeout: a call that makes no progress is an error that says whom it waits for, wherever
// it stands; and one that does make progress is not, however slowly.

#include "altering_transport.hpp"
#include "base/tags.hpp"
#include "call/stall_clock.hpp"
#include "loopback_ranks.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

using namespace std::chrono_literals;

constexpr double short_time = 0.1;

void expect_timeout(const std::function<void()>& call, const std::string& words) {
  const auto start = std::chrono::steady_clock::now();
  try {
    call();
    ADD_FAILURE() << "no error; expected one of " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::transport);
    EXPECT_NE(
        std::string(error.what()).find("no progress for 0.1 s, the timeout: waits for " + words),
        std::string::npos)
        << error.what();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, 90ms);
}

void reduce(Communicator& communicator, const Options& options) {
  std::vector<float> data(20000, 1.0f);
  allreduce(std::span(data), communicator, options);
}

/// Rank 1 does nothing, and the others make a call.
void without_rank_1(const std::function<void(Communicator&)>& call, const std::string& words) {
  const Watchdog watchdog(words);
  std::atomic<int> waiting = 2;
  on_ranks(3, [&](int rank, Communicator& communicator) {
    if (rank == 1) {
      while (waiting > 0) std::this_thread::sleep_for(1ms);
    } else {
      expect_timeout([&] { call(communicator); }, rank == 0 ? words : "rank ");
      --waiting;
    }
  });
}

TEST(Timeout, ARankThatNeverCalls) {
  without_rank_1([](Communicator& own) { reduce(own, {.codec = "raw", .timeout = short_time}); },
                 "rank 1 to agree on the call");
}

TEST(Timeout, ARequestThatIsTested) {
  without_rank_1(
      [](Communicator& own) {
        std::vector<float> data(1000);
        auto request = allreduce_start(data.data(), data.data(), 1000, ElementType::f32, own,
                                       {.codec = "thc", .timeout = short_time});
        while (!request.test()) std::this_thread::yield();
      },
      "rank 1 to agree on the call");
}

TEST(Timeout, APlanThatIsMade) {
  without_rank_1(
      [](Communicator& own) {
        AllreducePlan(own, 1000, ElementType::f32, {.codec = "raw", .timeout = short_time});
      },
      "rank 1 to agree on the call");
}

TEST(Timeout, OfTheEnvironmentHoldsForErrorsToo) {
  setenv("COHOM_TIMEOUT", "0.1", 1);
  without_rank_1([](Communicator& own) { reduce(own, {.codec = "nonsense"}); },
                 "rank 1 to agree on the call");
  unsetenv("COHOM_TIMEOUT");
}

TEST(Timeout, SaysTheErrorOfItsOwnRankToo) {
  const Watchdog watchdog("an error that not all learn of");
  std::atomic<bool> over = false;
  on_ranks(2, [&](int rank, Communicator& communicator) {
    while (rank == 1 && !over) std::this_thread::sleep_for(1ms);
    if (rank == 1) return;
    expect_timeout(
        [&] {
          reduce(communicator, {.codec = "raw", .algorithm = "nonsense", .timeout = short_time});
        },
        "rank 1 to agree on the call; the error of this rank, of which not all could be told: "
        "algorithm \"nonsense\" is unknown");
    over = true;
  });
}

/// Calls in flight together are given up together.
TEST(Timeout, OneForAllCallsInFlight) {
  const Watchdog watchdog("many timeouts");
  constexpr double timeout = 1;
  constexpr std::size_t calls = 5, count = 1000;
  std::atomic<bool> over = false;
  on_ranks(2, [&](int rank, Communicator& communicator) {
    while (rank == 1 && !over) std::this_thread::sleep_for(1ms);
    if (rank == 1) return;
    std::vector<std::vector<float>> data(calls, std::vector<float>(count));
    std::vector<Request> requests;
    const auto start = std::chrono::steady_clock::now();
    for (auto& own : data)
      requests.push_back(allreduce_start(own.data(), own.data(), count, ElementType::f32,
                                         communicator, {.codec = "raw", .timeout = timeout}));
    for (auto& request : requests) EXPECT_THROW(request.wait(), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
    over = true;
  });
}

/// A call is not stalled while one before it on its communicator goes on: its turn comes.
TEST(Timeout, NotWhileEarlierCallsGoOn) {
  const Watchdog watchdog("a call that waits for its turn");
  constexpr std::size_t count = 20000;
  constexpr double timeout = 0.3;
  std::atomic<int> sent = 0;
  LoopbackHub hub(2, {.preferred_message_bytes = 1000});
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      if (rank == 1)
        transport = std::make_shared<AlteringTransport>(
            transport, [&](std::vector<std::byte>&, int, std::uint32_t tag) {
              if (!is_agreement_tag(tag) && ++sent < 100) std::this_thread::sleep_for(10ms);
              return true;
            });
      Communicator communicator(transport);
      const Options options{
          .codec = "raw", .algorithm = "ring", .timeout = rank == 0 ? timeout : 0};
      std::vector<float> first(count, 1.0f), second(count, 1.0f);
      const auto start = [&](std::vector<float>& data) {
        return allreduce_start(data.data(), data.data(), count, ElementType::f32, communicator,
                               options);
      };
      auto earlier = start(first);
      if (rank == 1) earlier.wait();
      auto later = start(second);
      EXPECT_NO_THROW(earlier.wait());
      EXPECT_NO_THROW(later.wait());
      EXPECT_EQ(std::ranges::count(second, 2.0f), std::ptrdiff_t(count));
    });
  threads.clear();
  EXPECT_GE(sent, 60) << "the first call is to last longer than the timeout";
}

/// What rank 1 sends in one round is lost.
void with_a_silent_round(std::uint32_t round, const Options& options, const std::string& words) {
  const Watchdog watchdog(words);
  LoopbackHub hub(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      if (rank == 1)
        transport = std::make_shared<AlteringTransport>(
            transport, [&](std::vector<std::byte>&, int, std::uint32_t tag) {
              return is_agreement_tag(tag) || round_of_tag(tag) != round;
            });
      Communicator communicator(transport);
      if (rank == 0) {
        expect_timeout([&] { reduce(communicator, options); }, words);
      } else {
        try {
          reduce(communicator, options);
        } catch (const Error&) {  // it may, or may not, wait for rank 0
        }
      }
    });
}

TEST(Timeout, NamesRankAndRound) {
  with_a_silent_round(0, {.codec = "raw", .algorithm = "ring", .timeout = short_time},
                      "rank 1 in round payload");
  with_a_silent_round(0, {.codec = "thc", .algorithm = "direct", .timeout = short_time},
                      "rank 1 in round norms");
  with_a_silent_round(1, {.codec = "thc", .algorithm = "tree", .timeout = short_time},
                      "rank 1 in round payload");
}

TEST(Timeout, OfAPlansCalls) {
  const Watchdog watchdog("a plan's timeout");
  std::atomic<bool> over = false;
  on_ranks(2, [&](int rank, Communicator& communicator) {
    std::vector<float> data(1000);
    AllreducePlan plan(communicator, 1000, ElementType::f32,
                       {.codec = "raw", .algorithm = "ring", .timeout = short_time});
    plan.execute(data.data(), data.data());
    if (rank == 0)
      expect_timeout([&] { plan.execute(data.data(), data.data()); }, "rank 1 to agree");
    else
      while (!over) std::this_thread::yield();
    over = true;
  });
}

/// With an aggregator, too, a rank that does not call is missed in the agreement already.
TEST(Timeout, AtAnAggregator) {
  const Watchdog watchdog("a sum that never comes");
  std::atomic<bool> over = false;
  on_ranks(2, [&](int rank, Communicator& communicator) {
    reduce(communicator, {.codec = "raw", .algorithm = "fabric"});
    if (rank == 0)
      expect_timeout(
          [&] {
            reduce(communicator, {.codec = "raw", .algorithm = "fabric", .timeout = short_time});
          },
          "rank 1 to agree on the call");
    else
      while (!over) std::this_thread::yield();
    over = true;
  });
}

/// Time in which nobody asks does not count.
TEST(Timeout, ARankThatComputesIsNotStalled) {
  const Watchdog watchdog("a rank that computes");
  on_ranks(2, [&](int, Communicator& communicator) {
    std::vector<float> data(50000, 1.0f);
    auto request = allreduce_start(data.data(), data.data(), data.size(), ElementType::f32,
                                   communicator, {.codec = "thc", .timeout = short_time});
    for (int i = 0; i < 3 && !request.test(); ++i) std::this_thread::sleep_for(150ms);
    request.wait();
  });
}

TEST(Timeout, WrongOnesAreRefused) {
  on_ranks(2, [](int rank, Communicator& communicator) {
    const Options wrong{.codec = "raw", .timeout = rank == 1 ? -1.0 : 0.0};
    try {
      reduce(communicator, wrong);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("is not a number of seconds"), std::string::npos);
    }
    reduce(communicator, {.codec = "raw"});
  });
}

StallClock::Clock::time_point told_time;

TEST(StallClock, CountsPollsInVainAndNoGaps) {
  const auto poll = [](StallClock& clock, unsigned checks, std::chrono::seconds gap) {
    bool over = false;
    for (unsigned i = 0; i < checks; ++i) {
      told_time += gap;
      for (unsigned p = 0; p < StallClock::polls_a_check; ++p)
        over = clock.idle([] { return told_time; });
    }
    return over;
  };
  StallClock clock(1000);
  EXPECT_FALSE(poll(clock, 8, 100s));
  EXPECT_TRUE(poll(clock, 3, 100s));
  clock.moved();
  EXPECT_FALSE(poll(clock, 8, 100s)) << "what moved starts anew";
  clock.moved();
  EXPECT_FALSE(poll(clock, 8, 100000s)) << "long gaps are not waiting";
  EXPECT_TRUE(poll(clock, 1, 100000s)) << "asking again and again is";
  StallClock never(0);
  EXPECT_FALSE(poll(never, 1000, 100000s));
}

}  // namespace
}  // namespace cohom::test
