// Calls over aggregators in the network, from the user's vector to the sum: the same bits as
// without one, also when packets are lost, and when it goes and comes back in the middle.

#include "aggregation/auth/job_key_file.hpp"
#include "aggregation/client/connector.hpp"
#include "aggregator_kind.hpp"
#include "host_plane.hpp"
#include "job_keys.hpp"
#include "local_switch.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr const char* codecs_of_integers[] = {"thc",
                                              "thc:levels=full,lane=16",
                                              "thc:error_feedback=on",
                                              "signcount",
                                              "signcount:vote=majority",
                                              "marsit",
                                              "sketch",
                                              "sparse+thc"};

/// Sums of floats, in the order of ranks: as `direct` makes them.
constexpr const char* codecs_of_floats[] = {"raw", "sparse"};

class OffloadedCalls : public testing::TestWithParam<AggregatorKind> {
 protected:
  OffloadedCalls() { ::setenv("COHOM_AGGREGATOR_TOKEN", LocalSwitch::token, 1); }
  ~OffloadedCalls() override { ::unsetenv("COHOM_AGGREGATOR_TOKEN"); }

  /// What a group has left rests for a second before another one gets it.
  static std::unique_ptr<offload::DataPlane> large() { return GetParam().plane(4096, 32); }

  /// Ranks whose communicators connect to aggregators by their address. `job` tells tests apart.
  static void on_connected_ranks(int ranks, std::uint64_t job,
                                 const std::function<void(int, Communicator&)>& body) {
    LoopbackHub hub(ranks);
    on_ranks(ranks, [&](int rank, Communicator&) {
      Communicator communicator(
          hub.transport(rank),
          {.connect = offload::connector(test::job_secret(job), rank, ranks,
                                         {.token = {}, .messages = GetParam().messages})});
      body(rank, communicator);
    });
  }

  /// The results of three calls of a plan.
  static std::vector<Bytes> three_calls(Communicator& communicator, const RankInputs& inputs,
                                        const Options& options) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), options);
    std::vector<Bytes> results;
    for (int call = 0; call < 3; ++call) {
      Bytes data = inputs.bytes(communicator.rank());
      plan.execute(data.data(), data.data());
      results.push_back(std::move(data));
    }
    return results;
  }

  static void expect_bits_of(const char* algorithm, std::span<const char* const> codecs, int ranks,
                             const std::string& address, std::uint64_t job) {
    const Watchdog watchdog(std::to_string(ranks) + " ranks");
    const RankInputs inputs(ranks, ElementType::f32, 20011, 81);
    for (const char* codec : codecs) {
      std::vector<Bytes> expected;
      on_ranks(ranks, [&](int rank, Communicator& communicator) {
        auto results = three_calls(communicator, inputs,
                                   {.codec = codec, .algorithm = algorithm, .segment = 2048});
        if (rank == 0) expected = std::move(results);
      });
      on_connected_ranks(ranks, job++, [&](int rank, Communicator& communicator) {
        const auto found = three_calls(
            communicator, inputs,
            {.codec = codec, .algorithm = "offload", .segment = 2048, .aggregator = address});
        for (std::size_t call = 0; call < 3; ++call)
          EXPECT_TRUE(same_bytes(found[call], expected[call]))
              << codec << ", call " << call << " on rank " << rank << " of " << ranks;
        EXPECT_EQ(communicator.offload_counters().offloaded, 3u) << codec;
        EXPECT_EQ(communicator.offload_counters().repeated, 0u) << codec;
      });
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, OffloadedCalls, testing::ValuesIn(aggregator_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(OffloadedCalls, GiveTheBitsOfARing) {
  for (int ranks : {2, 3, 5}) {
    const LocalSwitch one(large());
    expect_bits_of("ring", codecs_of_integers, ranks, one.address(), 1);
  }
}

/// The others only wait for it.
TEST_P(OffloadedCalls, TheRankThatIsRefusedSaysWhy) {
  const Watchdog watchdog("a wrong token");
  const LocalSwitch one(large());
  const RankInputs inputs(3, ElementType::f32, 20011, 82);
  testing::internal::CaptureStderr();
  LoopbackHub hub(3);
  on_ranks(3, [&](int rank, Communicator&) {
    const std::string token = rank == 1 ? "another" : LocalSwitch::token;
    Communicator communicator(
        hub.transport(rank),
        {.connect = offload::connector(test::job_secret(99), rank, 3,
                                       {.token = token, .messages = GetParam().messages})});
    three_calls(communicator, inputs, {.algorithm = "offload", .aggregator = one.address()});
    EXPECT_EQ(communicator.offload_counters().declined, 3u);
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("instead of the aggregator at " + one.address() + ": wrong token"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("no answer yet"), std::string::npos) << said;
}

TEST_P(OffloadedCalls, LeaveTheJobsKeyToItsOwner) {
  const std::string path = testing::TempDir() + "job_key_" + std::to_string(::getpid());
  ::setenv(offload::job_key_file_variable, path.c_str(), 1);
  const LocalSwitch one(large());
  const RankInputs inputs(2, ElementType::f32, 20011, 84);
  on_connected_ranks(2, 31, [&](int, Communicator& communicator) {
    three_calls(communicator, inputs, {.algorithm = "offload", .aggregator = one.address()});
  });
  ::unsetenv(offload::job_key_file_variable);
  EXPECT_EQ(offload::read_job_secrets(path, "the file"), std::vector{test::job_secret(31)});
  ::unlink(path.c_str());
}

TEST_P(OffloadedCalls, AddFloatsInTheOrderOfRanks) {
  if (GetParam().name == "packets") GTEST_SKIP() << "packets have no merges of floats";
  for (int ranks : {2, 3, 5}) {
    const LocalSwitch one(large());
    expect_bits_of("direct", codecs_of_floats, ranks, one.address(), 1);
  }
}

/// A daemon promotes, so that contributions of thc have 4 bits and not 8, and of signcount 1 and
/// not 3.
TEST_P(OffloadedCalls, ContributionsAreNarrowWhereTheyMayBe) {
  constexpr int ranks = 4;
  constexpr std::size_t count = 1 << 16;
  const bool narrow = GetParam().name != "packets";
  const RankInputs inputs(ranks, ElementType::f32, count, 83);
  const LocalSwitch one(large());
  on_connected_ranks(ranks, 1, [&](int rank, Communicator& communicator) {
    const auto bytes_of = [&](const char* codec) {
      AllreducePlan plan(communicator, count, ElementType::f32,
                         {.codec = codec, .algorithm = "offload", .aggregator = one.address()});
      Bytes data = inputs.bytes(rank);
      const std::uint64_t before = communicator.offload_counters().bytes;
      plan.execute(data.data(), data.data());
      return communicator.offload_counters().bytes - before;
    };
    // Behind the payload's bits: norms of 4 bytes a block of 256, scales of one code a block of
    // 1024.
    EXPECT_EQ(bytes_of("thc"), count * (narrow ? 4 : 8) / 8 + count / 256 * 4);
    EXPECT_EQ(bytes_of("thc:levels=full"), count / 256 * (8 * (narrow ? 26 : 32) + 4));
    EXPECT_LT(bytes_of("signcount") - count / 1024 * (8 * (narrow ? 16 : 49)), 1024u);
  });
}

using OffloadedCallsByPackets = OffloadedCalls;
INSTANTIATE_TEST_SUITE_P(Packets, OffloadedCallsByPackets,
                         testing::Values(aggregator_kinds().front()));

TEST_P(OffloadedCallsByPackets, GiveTheBitsOfARingWhenSumsAreLost) {
  const LocalSwitch one(make_host_plane({.slots = 4096, .groups = 32, .lose_sums = 0.02}));
  expect_bits_of("ring", codecs_of_integers, 4, one.address(), 1);
}

/// It admits workers, and no sum of it ever arrives. The first rank whose time is over leaves the
/// group, so that the others wait for that rank.
TEST_P(OffloadedCallsByPackets, NameTheAggregatorWhoseSumIsMissingAtTheTimeout) {
  const Watchdog watchdog("sums that never leave");
  const LocalSwitch silent(make_host_plane({.slots = 256, .groups = 8, .lose_sums = 1}));
  std::atomic<int> named_it = 0;
  on_connected_ranks(3, 31, [&](int, Communicator& communicator) {
    std::vector<float> data(1000, 1.0F);
    const Options options{
        .codec = "thc", .algorithm = "offload", .aggregator = silent.address(), .timeout = 0.2};
    try {
      allreduce(std::span(data), communicator, options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("no progress for 0.2 s, the timeout"), std::string::npos) << text;
      if (text.find("waits for the aggregator in round ") != std::string::npos) ++named_it;
    }
  });
  EXPECT_GE(named_it, 1);
}

TEST_P(OffloadedCalls, SurviveAnAggregatorThatGoesAndComesBack) {
  constexpr int ranks = 3;
  const Watchdog watchdog("a switch that goes and comes back");
  const RankInputs inputs(ranks, ElementType::f32, 20011, 82);
  const Options common{.codec = "thc:dither=nearest,error_feedback=on", .segment = 1024};
  auto one = std::make_unique<LocalSwitch>(large());
  const std::uint16_t port = one->port();
  Options options = common;
  options.algorithm = "offload";
  options.aggregator = one->address();
  int calls = 0;
  Bytes last;
  on_connected_ranks(ranks, 7, [&](int rank, Communicator& communicator) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), options);
    Bytes data;
    std::uint64_t before_return = 0;
    // Counters are equal on all ranks, so all make the same calls.
    for (int call = 0;; ++call) {
      data = inputs.bytes(rank);
      plan.start(data.data(), data.data());
      if (rank == 0 && call == 10) one.reset();
      plan.wait();
      if (call == 30) before_return = communicator.offload_counters().offloaded;
      if (rank == 0 && call == 30) one = std::make_unique<LocalSwitch>(large(), port);
      if (call > 30 && communicator.offload_counters().offloaded > before_return + 5) {
        if (rank == 0) calls = call + 1, last = data;
        break;
      }
    }
    const OffloadCounters counters = communicator.offload_counters();
    EXPECT_GE(counters.offloaded, 10u);
    EXPECT_GE(counters.declined, 1u);
  });
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    Options ring = common;
    ring.algorithm = "ring";
    AllreducePlan plan(communicator, inputs.count(), inputs.type(), ring);
    Bytes data;
    for (int call = 0; call < calls; ++call) {
      data = inputs.bytes(rank);
      plan.execute(data.data(), data.data());
    }
    EXPECT_TRUE(rank != 0 || same_bytes(data, last)) << "after " << calls << " calls";
  });
}

}  // namespace
}  // namespace cohom::test
