// Aggregators of all kinds in one process: control server, the kernel program's lines on a UDP
// socket or a daemon's data plane, and workers as threads.

#include "aggregation/client/network_aggregator.hpp"
#include "aggregator_kind.hpp"
#include "host_plane.hpp"
#include "job_keys.hpp"
#include "offload_load.hpp"
#include "offload_switch.hpp"
#include "testing/packet_faults.hpp"
#include "word_merges.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

using test::packet_options;
using test::Switch;
using test::wait_for;
using namespace std::chrono_literals;

/// What every kind of aggregator does.
class Offload : public testing::TestWithParam<test::AggregatorKind> {
 protected:
  static std::unique_ptr<DataPlane> plane() { return GetParam().plane(256, 8); }
  static ClientOptions options() {
    ClientOptions options = packet_options();
    options.messages = GetParam().messages;
    options.message_bytes = 1000;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Offload, testing::ValuesIn(test::aggregator_kinds()),
                         [](const auto& kind) { return kind.param.name; });

using Work = std::function<void(NetworkAggregator&, int rank)>;

/// Runs the work as all ranks of a group; nobody leaves before all are through.
void run_ranks(int ranks, const std::function<Endpoint(int rank)>& where,
               const ClientOptions& common, const Work& work,
               const PacketFaults::Rates& faults = {}) {
  std::barrier through(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ClientOptions mine = common;
      PacketFaults::Rates own = faults;
      own.seed += std::uint64_t(rank);
      mine.packet_order = PacketFaults::with(own);
      NetworkAggregator aggregator(
          where(rank), {.job = test::job(1), .group = 2, .rank = rank, .ranks = ranks}, mine);
      work(aggregator, rank);
      through.arrive_and_wait();
    });
}

void expect_right_sums(NetworkAggregator& aggregator, int rank, int ranks,
                       std::uint64_t first_call = 0) {
  ASSERT_TRUE(wait_for([&] { return aggregator.ready(); })) << aggregator.why_not_ready();
  const test::Load load{.first_call = first_call, .calls = 12, .words = 1500};
  const auto result = test::run_load(aggregator, load, rank, ranks);
  EXPECT_EQ(result.wrong_words, 0u);
}

/// The same when a session may still end because another rank was late to learn of a failure.
void expect_right_sums_at_last(NetworkAggregator& aggregator, int rank, int ranks,
                               std::uint64_t first_call) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    try {
      return expect_right_sums(aggregator, rank, ranks, first_call);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::transport);
    }
  }
  ADD_FAILURE() << "no session lasts";
}

TEST_P(Offload, SumsAreRight) {
  for (int ranks : {1, 2, 3, 5, 8}) {
    Switch one(plane());
    run_ranks(
        ranks, [&](int) { return one.endpoint(); }, options(),
        [&](auto& aggregator, int rank) { expect_right_sums(aggregator, rank, ranks); });
    EXPECT_EQ(one.status()["packets"]["drop_mismatch"], 0);
  }
}

TEST(OffloadByPackets, SumsAreRightWhateverPacketsDo) {
  Switch one(test::make_host_plane({.lose_sums = 0.02}));
  std::atomic<std::uint64_t> repeated = 0;
  run_ranks(
      4, [&](int) { return one.endpoint(); }, packet_options(),
      [&](auto& aggregator, int rank) {
        expect_right_sums(aggregator, rank, 4);
        repeated += aggregator.counters().repeated;
      },
      {.lose = 0.02, .repeat = 0.1, .reorder = 0.3});
  EXPECT_GT(repeated, 0u);
  EXPECT_GT(one.status()["packets"]["answered"], 0);
}

TEST_P(Offload, TreesOfThreeLevels) {
  Switch root(plane());
  Switch middle(plane(), {}, root.port());
  Switch leaf(plane(), {}, middle.port());
  const auto where = [&](int rank) {
    return rank < 2 ? root.endpoint() : rank == 2 ? middle.endpoint() : leaf.endpoint();
  };
  run_ranks(5, where, options(),
            [&](auto& aggregator, int rank) { expect_right_sums(aggregator, rank, 5); });
}

TEST(OffloadByPackets, TreesOfThreeLevelsThatLose) {
  Switch root(test::make_host_plane({}));
  Switch middle(test::make_host_plane({}), {}, root.port());
  Switch leaf(test::make_host_plane({.lose_sums = 0.02}), {}, middle.port());
  const auto where = [&](int rank) {
    return rank < 2 ? root.endpoint() : rank == 2 ? middle.endpoint() : leaf.endpoint();
  };
  run_ranks(5, where, packet_options(),
            [&](auto& aggregator, int rank) { expect_right_sums(aggregator, rank, 5); },
            {.lose = 0.02, .repeat = 0.1});
}

/// Whether it merges words so, kind by kind.
std::vector<bool> merges_of(const Aggregator& aggregator) {
  std::vector<bool> all;
  for (const MergeKind kind : test::word_merges) all.push_back(aggregator.supports({kind}));
  return all;
}

TEST_P(Offload, WordsAreMergedByEveryKind) {
  Switch one(plane());
  NetworkAggregator aggregator(one.endpoint(), {.job = test::job(1)}, options());
  ASSERT_TRUE(wait_for([&] { return aggregator.ready(); })) << aggregator.why_not_ready();
  EXPECT_EQ(merges_of(aggregator), std::vector<bool>(std::size(test::word_merges), true));
}

/// It says what it has; a leaf, what both it and its parent have.
TEST(OffloadByPackets, AnOlderAggregatorLacksWhatCameLater) {
  Switch root(test::make_host_plane({}));
  Switch old_root(test::make_host_plane({.merges = test::first_merges}));
  Switch leaf_below_old(test::make_host_plane({}), {}, old_root.port());
  Switch old_leaf(test::make_host_plane({.merges = test::first_merges}), {}, root.port());
  const std::vector<bool> first{true, true, true, false, false};
  for (const Switch* const older : {&old_root, &leaf_below_old, &old_leaf}) {
    NetworkAggregator aggregator(older->endpoint(), {.job = test::job(1)}, packet_options());
    EXPECT_EQ(merges_of(aggregator), first) << "nobody knows yet";
    ASSERT_TRUE(wait_for([&] { return aggregator.ready(); })) << aggregator.why_not_ready();
    EXPECT_EQ(merges_of(aggregator), first);
  }
}

TEST_P(Offload, WrongToken) {
  Switch one(plane());
  ClientOptions wrong = options();
  wrong.token = "Secret";
  NetworkAggregator aggregator(one.endpoint(), {.job = test::job(1)}, wrong);
  EXPECT_TRUE(wait_for([&] { return aggregator.why_not_ready().starts_with("wrong token"); }));
  EXPECT_FALSE(aggregator.ready());
  // A reduction without a group fails; it does not wait.
  std::vector<std::uint64_t> words(3);
  const auto reduction = aggregator.open(0, 0, 1);
  reduction->start(words, words, {MergeKind::add}, 0);
  std::vector<Completion> done(1);
  EXPECT_THROW(reduction->poll(done), Error);
}

TEST_P(Offload, NobodyIsThere) {
  std::uint16_t port = 0;
  {
    Switch gone(plane());
    port = gone.port();
  }
  NetworkAggregator aggregator({"127.0.0.1", port}, {.job = test::job(1)}, options());
  EXPECT_TRUE(wait_for(
      [&] { return aggregator.why_not_ready().find("Connection refused") != std::string::npos; }));
  Switch late(plane(), {}, 0, port);
  EXPECT_TRUE(wait_for([&] { return aggregator.ready(); })) << aggregator.why_not_ready();
}

/// Sums calls until something fails; what it says.
std::string failure_of(NetworkAggregator& aggregator, int rank, int ranks) {
  if (!wait_for([&] { return aggregator.ready(); })) return "never ready";
  try {
    test::run_load(aggregator, {.calls = 1000000}, rank, ranks);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST_P(Offload, SurvivorsLearnThatARankHasLeft) {
  Switch one(plane());
  std::jthread quitter([&] {
    NetworkAggregator aggregator(
        one.endpoint(), {.job = test::job(1), .group = 2, .rank = 2, .ranks = 3}, options());
    if (wait_for([&] { return aggregator.ready(); }))
      test::run_load(aggregator, {.calls = 3}, 2, 3);
  });
  std::vector<std::jthread> survivors;
  for (int rank : {0, 1})
    survivors.emplace_back([&, rank] {
      NetworkAggregator aggregator(
          one.endpoint(), {.job = test::job(1), .group = 2, .rank = rank, .ranks = 3}, options());
      EXPECT_NE(failure_of(aggregator, rank, 3).find("has left"), std::string::npos);
    });
  quitter.join();
  survivors.clear();
  EXPECT_TRUE(wait_for([&] { return one.status()["groups"].empty(); }));
  EXPECT_EQ(one.status()["free_slots"], one.status()["slots"]);
}

TEST_P(Offload, ACallGivenUpByOneRankEndsForAll) {
  Switch one(plane());
  run_ranks(
      2, [&](int) { return one.endpoint(); }, options(),
      [&](auto& aggregator, int rank) {
        if (rank == 0) {
          EXPECT_NE(failure_of(aggregator, 0, 2).find("aggregator"), std::string::npos);
        } else {
          ASSERT_TRUE(wait_for([&] { return aggregator.ready(); }));
          std::vector<std::uint64_t> words(3);
          const auto reduction = aggregator.open(0, 0, 3);
          reduction->start(words, words, {MergeKind::max}, 0);
        }
        // Both come back by themselves.
        expect_right_sums_at_last(aggregator, rank, 2, 100);
      });
}

TEST_P(Offload, AnAggregatorComesBack) {
  auto one = std::make_unique<Switch>(plane());
  Endpoint endpoint = one->endpoint();
  std::barrier failed(4);
  std::jthread breaker([&] {
    std::this_thread::sleep_for(300ms);
    one.reset();
    failed.arrive_and_wait();
    one = std::make_unique<Switch>(plane(), ServerLimits{}, 0, endpoint.port);
  });
  run_ranks(
      3, [&](int) { return endpoint; }, options(),
      [&](auto& aggregator, int rank) {
        const std::string failure = failure_of(aggregator, rank, 3);
        EXPECT_NE(failure.find("aggregator"), std::string::npos) << failure;
        failed.arrive_and_wait();
        expect_right_sums_at_last(aggregator, rank, 3, 1 << 20);
      });
}

TEST(OffloadByPackets, SilenceIsAnError) {
  Switch mute(test::make_host_plane({.lose_sums = 1.0}));
  ClientOptions impatient = packet_options();
  impatient.silence = 300ms;
  std::atomic<int> silent = 0;
  run_ranks(
      2, [&](int) { return mute.endpoint(); }, impatient,
      [&](auto& aggregator, int rank) {
        const auto failure = failure_of(aggregator, rank, 2);
        silent += failure.find("silent for 0.3 s") != std::string::npos;
      });
  EXPECT_GE(silent, 1);
}

/// While a rank encodes, its answers wait in the socket: they are not lost, and nothing is sent
/// again.
TEST_P(Offload, ARankThatWorksIsNoLoss) {
  Switch one(plane());
  run_ranks(
      2, [&](int) { return one.endpoint(); }, options(),
      [&](auto& aggregator, int rank) {
        ASSERT_TRUE(wait_for([&] { return aggregator.ready(); }));
        std::vector<std::uint64_t> words(100, 1), sum(100);
        std::vector<Completion> done(1);
        for (std::uint64_t call = 0; call < 4; ++call) {
          const auto reduction = aggregator.open(call, 0, 1);
          reduction->start(words, sum, {MergeKind::add}, 0);
          do std::this_thread::sleep_for(50ms);
          while (reduction->poll(done) == 0);
          EXPECT_EQ(sum[99], 2u);
        }
        EXPECT_EQ(aggregator.counters().repeated, 0u) << rank;
      });
}

TEST_P(Offload, Limits) {
  Switch small(plane(), {.jobs = 1, .groups = 2});
  NetworkAggregator first(small.endpoint(), {.job = test::job(1)}, options());
  ASSERT_TRUE(wait_for([&] { return first.ready(); }));
  const auto refused = [&](const GroupMembership& membership, const std::string& why) {
    NetworkAggregator aggregator(small.endpoint(), membership, options());
    return wait_for([&] { return aggregator.why_not_ready().starts_with(why); }, 5s)
               ? ""
               : aggregator.why_not_ready();
  };
  EXPECT_EQ(refused({.job = test::job(2)}, "no resources: all 1 jobs"), "");
  EXPECT_EQ(refused({.job = test::job(1)}, "lock failed (retry): worker 0 is in the group still"),
            "");
  EXPECT_EQ(refused({.job = test::job(1), .group = 1, .rank = 0, .ranks = 8193},
                    "not supported: worker 0 of 8193; a group has 1 to 8192 workers"),
            "");
  NetworkAggregator second(small.endpoint(), {.job = test::job(1), .group = 1}, options());
  ASSERT_TRUE(wait_for([&] { return second.ready(); }));
  EXPECT_EQ(refused({.job = test::job(1), .group = 3}, "no resources: all 2 groups"), "");
  EXPECT_EQ(small.status()["free_slots"], 256 - 2 * 16);
}

}  // namespace
}  // namespace cohom::offload
