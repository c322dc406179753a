// Memory that is missing, at every allocation of a call once: an error on all ranks, and the next
// call works.
//
// Rank 1 fails. Whatever the library takes before ranks agree on a call, all ranks hear of. What a
// transport takes for its messages, thc when it promotes contributions that end in a ragged block,
// and sketch for elements that did not peel, is like any failure of a transport: the others may
// wait, here with a timeout.

#include "call/communicator_impl.hpp"
#include "failing_memory.hpp"
#include "forwarding_transport.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/exact_sum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

/// In its functions nothing fails.
class Spared {
 public:
  Spared() : kept_(allocations_left) { allocations_left = -1; }
  ~Spared() { allocations_left = kept_; }
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;

 private:
  long kept_;
};

class SparedChannel final : public ForwardingChannel {
 public:
  using ForwardingChannel::ForwardingChannel;
  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    const Spared spared;
    ForwardingChannel::send(data, peer, tag, cookie);
  }
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override {
    const Spared spared;
    ForwardingChannel::receive(buffer, peer, tag, cookie);
  }
  std::size_t poll(std::span<Completion> out) override {
    const Spared spared;
    return ForwardingChannel::poll(out);
  }
  bool flushed() override {
    const Spared spared;
    return ForwardingChannel::flushed();
  }
};

class SparedTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  std::unique_ptr<Channel> open(std::uint32_t number) override {
    auto channel = [&] {
      const Spared spared;
      return ForwardingTransport::open(number);
    }();
    return std::make_unique<SparedChannel>(std::move(channel));
  }
};

struct Case {
  const char* codec;
  const char* algorithm;
  bool all_hear;  ///< the transport is spared, and all that fails does so before ranks agree
  bool warm;      ///< the plan is there
};

std::string error_of(Communicator& communicator, std::vector<float>& data, const Options& options) {
  try {
    allreduce(std::span(data), communicator, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

class AllocationFailure : public testing::TestWithParam<Case> {};

TEST_P(AllocationFailure, IsAnErrorAndTheNextCallWorks) {
  constexpr int ranks = 2;
  const Case& tested = GetParam();
  const Options options{.codec = tested.codec,
                        .algorithm = tested.algorithm,
                        .segment = 512,
                        .buffer = "kept",
                        .timeout = tested.all_hear ? 20 : 0.02};
  Options patient = options;
  patient.timeout = 0;
  std::atomic<bool> failed = true;
  long allocation = 0;
  for (; failed && !HasFailure(); ++allocation) {
    const Watchdog watchdog("allocation " + std::to_string(allocation));
    LoopbackHub hub(ranks);
    std::barrier all(ranks);
    std::string errors[ranks];
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::shared_ptr<Transport> transport = hub.transport(rank);
        if (tested.all_hear) transport = std::make_shared<SparedTransport>(transport);
        Communicator communicator(transport);
        std::vector<float> data(5000, 1.0f), later(5000, 1.0f);
        // A thread's first call takes scratch that kernels keep for it; a plan of another length
        // does.
        std::vector<float> first(tested.warm ? 5000 : 7000, 1.0f);
        EXPECT_EQ(error_of(communicator, first, patient), "");
        communicator.reset_state("kept");
        all.arrive_and_wait();
        if (rank == 1) allocations_left = allocation;
        errors[rank] = error_of(communicator, data, options);
        if (errors[rank].empty()) EXPECT_NEAR(data[1000], 2, 0.9) << "1 is what went in";
        if (rank == 1) {
          failed = allocations_left < 0;
          allocations_left = -1;
        }
        all.arrive_and_wait();
        communicator.reset_state("kept");
        std::fill(later.begin(), later.end(), 1.0f);
        EXPECT_EQ(error_of(communicator, later, patient), "") << "behind allocation " << allocation;
        for (std::size_t i = 0; i < later.size(); i += 100) EXPECT_NEAR(later[i], 2, 0.9);
      });
    threads.clear();
    if (!failed) break;
    if (!tested.all_hear) continue;
    EXPECT_EQ(errors[0], errors[1]) << "allocation " << allocation;
    // What is only tried for speed may fail without a word.
    if (errors[0].empty()) continue;
    EXPECT_NE(errors[0].find("out of memory"), std::string::npos)
        << "allocation " << allocation << ": " << errors[0];
  }
  EXPECT_GT(allocation, 0) << "a call takes some memory";
  std::printf("%s by %s: %ld allocations\n", tested.codec, tested.algorithm, allocation);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, AllocationFailure,
    testing::Values(Case{"raw", "ring", true, false}, Case{"thc", "direct", false, false},
                    Case{"thc:error_feedback=on", "recursive_doubling", true, true},
                    Case{"packed", "ring", true, false}, Case{"packed", "tree", true, true},
                    Case{"sparse", "direct", true, true}, Case{"sketch", "ring", false, true},
                    Case{"signcount:error_feedback=on", "ring", true, false},
                    Case{"thc", "ring", true, false}, Case{"exact", "ring", true, false},
                    Case{"exact", "direct", true, true}, Case{"exact", "tree", true, false}),
    [](const auto& test) {
      std::string name = std::string(test.param.codec) + "_" + test.param.algorithm +
                         (test.param.warm ? "_warm" : "_cold") +
                         (test.param.all_hear ? "" : "_some");
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

/// Rank 1 has told some others of a short call, and goes on with it as with any call, as rank 0 is
/// late. What it lacks then is its own error, and it waits for nobody: the others may.
TEST(ShortCalls, LackMemoryWhereOthersAreLate) {
  constexpr int ranks = 4;
  std::atomic<bool> failed = true;
  long allocation = 0;
  for (; failed && !HasFailure(); ++allocation) {
    const Watchdog watchdog("allocation " + std::to_string(allocation));
    LoopbackHub hub(ranks);
    std::barrier all(ranks);
    std::string errors[ranks];
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        Communicator communicator(std::make_shared<SparedTransport>(hub.transport(rank)));
        std::vector<float> data(100, 1.0f);
        all.arrive_and_wait();
        if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (rank == 1) allocations_left = allocation;
        errors[rank] = error_of(communicator, data, {.codec = "raw", .timeout = 0.3});
        if (rank == 1) {
          failed = allocations_left < 0;
          allocations_left = -1;
        }
        if (errors[rank].empty()) EXPECT_EQ(data, std::vector<float>(100, float(ranks)));
      });
    threads.clear();
    if (!failed) break;
    const bool all_heard = errors[0] == errors[1];
    EXPECT_TRUE(all_heard || errors[1].find("out of memory") != std::string::npos)
        << "allocation " << allocation << ": " << errors[1];
  }
  EXPECT_GT(allocation, 10) << "a plan, and a call behind a late rank";
  std::printf("a short call: %ld allocations\n", allocation);
}

/// The plan of a shorter vector, in a race, serves a longer one, in another race. For that rank 1
/// has no memory: an error of all ranks, after which the plan is as it was. What it lacks after
/// that may be its own error, as above.
TEST(ShortCalls, LackMemoryForALongerVector) {
  std::atomic<bool> failed = true;
  long allocation = 0, of_the_plan = 0;
  for (; failed && !HasFailure(); ++allocation) {
    const Watchdog watchdog("allocation " + std::to_string(allocation));
    LoopbackHub hub(2);
    std::barrier all(2);
    std::string errors[2];
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        Communicator communicator(std::make_shared<SparedTransport>(hub.transport(rank)),
                                  Aggregators{.native = hub.native_sums(rank)});
        const auto call = [&](std::size_t count, bool lacks) {
          std::vector<float> data(count, 1.0f);
          all.arrive_and_wait();
          if (lacks) allocations_left = allocation;
          errors[rank] =
              error_of(communicator, data, {.codec = "raw", .timeout = 5, .native = "auto"});
          if (lacks) {
            failed = allocations_left < 0;
            allocations_left = -1;
          }
          if (errors[rank].empty()) EXPECT_EQ(data, std::vector<float>(count, 2.0f));
          all.arrive_and_wait();
        };
        call(1500, false);
        EXPECT_EQ(errors[rank], "");
        call(4000, rank == 1);
        const bool plan = errors[1].find("for a plan of 4000 elements") != std::string::npos;
        if (!plan) return;
        EXPECT_EQ(errors[0], errors[1]);
        if (rank == 1) ++of_the_plan;
        for (const std::size_t count : {4000, 1500}) {
          call(count, false);
          EXPECT_EQ(errors[rank], "");
        }
        EXPECT_EQ(communicator.impl().plans().size(), 1u);
      });
  }
  EXPECT_GE(of_the_plan, 3) << "the race, the message and partial sums";
  std::printf("a longer vector: %ld allocations, %ld of them the plan's\n", allocation,
              of_the_plan);
}

/// A vector that was added in part is in no sum.
TEST(ExactSums, LackMemoryForAVector) {
  constexpr int ranks = 2;
  std::atomic<bool> failed = true;
  long allocation = 0;
  for (; failed && !HasFailure(); ++allocation) {
    const Watchdog watchdog("allocation " + std::to_string(allocation));
    LoopbackHub hub(ranks);
    std::string errors[ranks];
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        Communicator communicator(hub.transport(rank));
        ExactSum sum(64, ElementType::f32);
        const std::vector<float> vector(64, 1.0f);
        std::vector<float> output(64);
        if (rank == 1) {
          allocations_left = allocation;
          bool threw = false;
          try {
            sum.add(vector);
          } catch (const Error& error) {
            threw = true;
            EXPECT_EQ(error.kind(), ErrorKind::memory) << error.what();
          }
          failed = allocations_left < 0;
          allocations_left = -1;
          EXPECT_EQ(threw, failed);
        } else {
          sum.add(vector);
        }
        try {
          sum.allreduce(output, communicator);
          EXPECT_EQ(output, std::vector<float>(64, 2.0f));
        } catch (const Error& error) {
          errors[rank] = error.what();
        }
        sum.reset();
        sum.add(vector);
        sum.allreduce(output, communicator);
        EXPECT_EQ(output, std::vector<float>(64, 2.0f));
      });
    threads.clear();
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_EQ(errors[0].find("part of it was added; reset the sum") != std::string::npos, failed)
        << errors[0];
  }
  EXPECT_GE(allocation, 4) << "a vector takes memory for each 16 elements";
}

}  // namespace
}  // namespace cohom::test
