// Options::checksum: the same sums, eight bytes a message more, and no changed message that goes
// unseen.

#include "altering_transport.hpp"
#include "base/tags.hpp"
#include "codec_specs.hpp"
#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "testing/loopback_transport.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t count = 30000;

struct Sum {
  Bytes bytes;
  WireCounters sent;
};

Sum sum_of(const RankInputs& inputs, int ranks, const Options& options) {
  Sum sum;
  on_ranks(ranks, {.eager_limit = 0, .preferred_message_bytes = 4096, .delay = 64},
           [&](int rank, Communicator& communicator) {
             Bytes output(inputs.bytes(rank).size());
             allreduce(inputs.bytes(rank).data(), output.data(), count, ElementType::f32,
                       communicator, options);
             if (rank == 0) sum = {output, communicator.wire_counters()};
           });
  return sum;
}

TEST(Checksum, ChangesNoSumAndAddsEightBytesAMessage) {
  CaseShare share(1, 5);
  for (const int ranks : {2, 4})
    for (const CodecSpec& codec : specs_for(ranks))
      for (const char* algorithm : {"ring", "direct", "tree", "recursive_doubling"}) {
        if (share.skips_this()) continue;
        const Watchdog watchdog("checksums");
        const RankInputs inputs(ranks, ElementType::f32, count);
        Options options{.codec = std::string(codec.spec), .algorithm = algorithm, .buffer = "kept"};
        const Sum without = sum_of(inputs, ranks, options);
        options.checksum = "on";
        const Sum with = sum_of(inputs, ranks, options);
        EXPECT_TRUE(same_bytes(with.bytes, without.bytes)) << codec.spec << " by " << algorithm;
        // Without them that vector travels with the agreement.
        if (codec.spec == "raw" && options.algorithm == "recursive_doubling") continue;
        const auto more = with.sent.messages_sent - without.sent.messages_sent;
        EXPECT_EQ(with.sent.bytes_sent - without.sent.bytes_sent, 8 * more);
        EXPECT_GT(2 * more, without.sent.messages_sent) << "all but the agreements' messages";
        options.checksum = "off";
        EXPECT_EQ(sum_of(inputs, ranks, options).sent.bytes_sent, without.sent.bytes_sent);
      }
}

/// One bit of the message number `target` that rank 1 sends in a round; what rank 0 says. `before`
/// gets the bytes of the messages before it, without their checksums.
std::string error_of_flip(std::uint32_t round, int target, const Options& options,
                          std::size_t* before = nullptr) {
  const Watchdog watchdog("a flipped bit");
  std::string error;
  LoopbackHub hub(2, {.preferred_message_bytes = 4096});
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      int sent = 0;
      if (rank == 1)
        transport = std::make_shared<AlteringTransport>(
            transport, [&](std::vector<std::byte>& bytes, int, std::uint32_t tag) {
              if (is_agreement_tag(tag) || round_of_tag(tag) != round) return true;
              if (before != nullptr && sent < target && sent % 2 == 0) *before += bytes.size();
              if (sent++ == target) bytes.back() ^= std::byte{1};
              return true;
            });
      Communicator communicator(transport);
      std::vector<float> data(count, 1.0f);
      try {
        allreduce(std::span(data), communicator, options);
      } catch (const Error& thrown) {
        EXPECT_EQ(thrown.kind(), ErrorKind::transport);
        if (rank == 0) error = thrown.what();
      }
    });
  threads.clear();
  return error;
}

void expect_words(const std::string& error, const std::string& round, const std::string& offset) {
  EXPECT_NE(error.find("a message of rank 1 in round " + round + " was changed on its way"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find(" at offset " + offset + " of what it sends"), std::string::npos) << error;
}

constexpr std::uint32_t packed_payload = 2;  ///< behind the rounds that agree on a step

TEST(Checksum, AChangedMessageNamesSenderRoundAndOffset) {
  Options options{
      .codec = "raw", .algorithm = "recursive_doubling", .timeout = 0.2, .checksum = "on"};
  expect_words(error_of_flip(0, 0, options), "payload", "0");
  expect_words(error_of_flip(0, 1, options), "payload", "0");  // of the checksum itself
  expect_words(error_of_flip(0, 4, options), "payload", "8192");
  options.codec = "thc";
  expect_words(error_of_flip(0, 0, options), "norms", "0");
  expect_words(error_of_flip(1, 2, options), "payload", "4096");
  // Payloads that are shorter than what is there for them.
  options.codec = "packed";
  options.segment = 1024;
  std::size_t before = 0;
  const std::string of_packed = error_of_flip(packed_payload, 2, options, &before);
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 4096u);
  expect_words(of_packed, "payload", std::to_string(before));
  options.codec = "thc";
  options.checksum = "off";
  EXPECT_EQ(error_of_flip(1, 2, options), "") << "only a checksum can tell";
}

std::string error_of(int ranks, const std::function<Options(int rank)>& options) {
  std::string error;
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    std::vector<float> data(count);
    try {
      allreduce(std::span(data), communicator, options(rank));
    } catch (const Error& thrown) {
      if (rank == 0) error = thrown.what();
    }
  });
  return error;
}

TEST(Checksum, AllRanksWantItOrNone) {
  EXPECT_EQ(error_of(3,
                     [](int rank) {
                       return Options{.codec = "raw",
                                      .algorithm = "ring",
                                      .checksum = rank == 2 ? "on" : "off"};
                     }),
            "ranks disagree on checksum (rank 2: \"on\"; the other 2: \"off\")");
}

TEST(Checksum, WhatItCannotDoIsRefused) {
  EXPECT_NE(error_of(2, [](int) { return Options{.checksum = "yes"}; })
                .find("checksum=yes is neither on nor off"),
            std::string::npos);
  EXPECT_NE(
      error_of(2,
               [](int) { return Options{.codec = "raw", .algorithm = "fabric", .checksum = "on"}; })
          .find("algorithm fabric has others sum"),
      std::string::npos);
}

TEST(Checksum, TheEnvironmentTurnsItOn) {
  setenv("COHOM_CHECKSUM", "on", 1);
  expect_words(error_of_flip(0, 0, {.codec = "raw", .algorithm = "ring", .timeout = 0.2}),
               "payload", "0");
  unsetenv("COHOM_CHECKSUM");
}

TEST(Checksum, WordsOfADeviceTravelThroughTheHost) {
  const WithDevice device;
  const RankInputs inputs(2, ElementType::f32, count);
  std::vector<Bytes> sums;
  for (const char* checksum : {"off", "on"}) {
    Bytes sum;
    on_ranks(2, reaching_device(), [&](int rank, Communicator& communicator) {
      const DeviceVector data(inputs.bytes(rank));
      AllreducePlan plan(communicator, count, ElementType::f32,
                         {.codec = "thc", .algorithm = "ring", .checksum = checksum});
      plan.execute(data.data(), data.data());
      EXPECT_EQ(plan.describe().memory, "cuda");
      EXPECT_EQ(plan.describe().path == "staged", std::string(checksum) == "on");
      if (rank == 0) sum = data.fetch();
    });
    sums.push_back(sum);
  }
  EXPECT_TRUE(same_bytes(sums[1], sums[0]));
}

}  // namespace
}  // namespace cohom::test
