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
#include <cohom/profile.hpp>

#include <gtest/gtest.h>

#include <algorithm>
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

/// Has a part of a test fail at its first allocation, then at its second, and so on, until it has
/// all that it takes.
class FailingAllocations {
 public:
  /// Whether there is another one to fail.
  [[nodiscard]] bool more() {
    if (!failed_ || testing::Test::HasFailure()) return false;
    ++number_;
    return true;
  }
  /// Runs the part, in the thread of the rank that lacks memory.
  template <class Part>
  void fail_in(const Part& part) {
    allocations_left = number_;
    part();
    failed_ = allocations_left < 0;
    allocations_left = -1;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  /// The one that fails; in the end, how many the part takes.
  [[nodiscard]] long number() const { return number_; }
  [[nodiscard]] std::string name() const { return "allocation " + std::to_string(number_); }

 private:
  long number_ = -1;
  bool failed_ = true;
};

/// Runs `body` for each rank in a thread of its own.
template <class Body>
void in_threads(int ranks, const Body& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
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
  FailingAllocations allocations;
  while (allocations.more()) {
    const Watchdog watchdog(allocations.name());
    LoopbackHub hub(ranks);
    std::barrier all(ranks);
    std::string errors[ranks];
    in_threads(ranks, [&](int rank) {
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
      const auto call = [&] { errors[rank] = error_of(communicator, data, options); };
      if (rank == 1)
        allocations.fail_in(call);
      else
        call();
      if (errors[rank].empty()) EXPECT_NEAR(data[1000], 2, 0.9) << "1 is what went in";
      all.arrive_and_wait();
      communicator.reset_state("kept");
      std::fill(later.begin(), later.end(), 1.0f);
      EXPECT_EQ(error_of(communicator, later, patient), "") << "behind " << allocations.name();
      for (std::size_t i = 0; i < later.size(); i += 100) EXPECT_NEAR(later[i], 2, 0.9);
    });
    if (!allocations.failed()) break;
    if (!tested.all_hear) continue;
    EXPECT_EQ(errors[0], errors[1]) << allocations.name();
    // What is only tried for speed may fail without a word.
    if (errors[0].empty()) continue;
    EXPECT_NE(errors[0].find("out of memory"), std::string::npos)
        << allocations.name() << ": " << errors[0];
  }
  EXPECT_GT(allocations.number(), 0) << "a call takes some memory";
  std::printf("%s by %s: %ld allocations\n", tested.codec, tested.algorithm, allocations.number());
}

INSTANTIATE_TEST_SUITE_P(
    Calls, AllocationFailure,
    testing::Values(Case{"raw", "ring", true, false}, Case{"thc", "direct", false, false},
                    Case{"raw", "recursive_doubling", true, false},
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
  FailingAllocations allocations;
  while (allocations.more()) {
    const Watchdog watchdog(allocations.name());
    LoopbackHub hub(ranks);
    std::barrier all(ranks);
    std::string errors[ranks];
    in_threads(ranks, [&](int rank) {
      Communicator communicator(std::make_shared<SparedTransport>(hub.transport(rank)));
      std::vector<float> data(100, 1.0f);
      all.arrive_and_wait();
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const auto call = [&] {
        errors[rank] = error_of(communicator, data, {.codec = "raw", .timeout = 0.3});
      };
      if (rank == 1)
        allocations.fail_in(call);
      else
        call();
      if (errors[rank].empty()) EXPECT_EQ(data, std::vector<float>(100, float(ranks)));
    });
    if (!allocations.failed()) break;
    const bool all_heard = errors[0] == errors[1];
    EXPECT_TRUE(all_heard || errors[1].find("out of memory") != std::string::npos)
        << allocations.name() << ": " << errors[1];
  }
  EXPECT_GT(allocations.number(), 10) << "a plan, and a call behind a late rank";
  std::printf("a short call: %ld allocations\n", allocations.number());
}

/// The plan of a shorter vector, in a race, serves a longer one, in another race. For that rank 1
/// has no memory: an error of all ranks, after which the plan is as it was. What it lacks after
/// that may be its own error, as above.
TEST(ShortCalls, LackMemoryForALongerVector) {
  FailingAllocations allocations;
  long of_the_plan = 0;
  while (allocations.more()) {
    const Watchdog watchdog(allocations.name());
    LoopbackHub hub(2);
    std::barrier all(2);
    std::string errors[2];
    in_threads(2, [&](int rank) {
      Communicator communicator(std::make_shared<SparedTransport>(hub.transport(rank)),
                                Aggregators{.native = hub.native_sums(rank)});
      const auto call = [&](std::size_t count, bool lacks) {
        std::vector<float> data(count, 1.0f);
        all.arrive_and_wait();
        const auto sum = [&] {
          errors[rank] =
              error_of(communicator, data, {.codec = "raw", .timeout = 5, .native = "auto"});
        };
        if (lacks)
          allocations.fail_in(sum);
        else
          sum();
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
  std::printf("a longer vector: %ld allocations, %ld of them the plan's\n", allocations.number(),
              of_the_plan);
}

/// In the first turn of a race's third way, for vectors that travel with the words. What rank 1
/// lacks for that way is no error: the call goes its own way on both ranks.
TEST(ShortCalls, LackMemoryForAThirdWay) {
  FailingAllocations allocations;
  int gone_own_way = 0;
  while (allocations.more()) {
    const Watchdog watchdog(allocations.name());
    LoopbackHub hub(2);
    std::barrier all(2);
    std::string errors[2];
    std::uint64_t third_calls[2];
    in_threads(2, [&](int rank) {
      Profile profile;  // so calls go the usual way at once, and take what they lack once
      Communicator communicator(std::make_shared<SparedTransport>(hub.transport(rank)),
                                Aggregators{.native = hub.native_sums(rank)});
      communicator.set_profile(&profile);
      for (int i = 0; i < 3; ++i) {
        std::vector<float> data(30000, 1.0f);
        all.arrive_and_wait();
        const auto call = [&] {
          errors[rank] = error_of(communicator, data, {.codec = "thc", .native = "auto"});
        };
        if (rank == 1 && i == 2)
          allocations.fail_in(call);
        else
          call();
        all.arrive_and_wait();
        if (errors[rank].empty()) EXPECT_NEAR(data[20000], 2, 0.9) << "1 is what went in";
      }
      third_calls[rank] = communicator.third_calls();
    });
    EXPECT_EQ(errors[0], errors[1]) << allocations.name();
    EXPECT_EQ(third_calls[0], third_calls[1]) << allocations.name();
    if (errors[1].empty() && third_calls[1] == 0) ++gone_own_way;
    if (!allocations.failed()) EXPECT_EQ(third_calls[1], 1u);
  }
  EXPECT_GE(gone_own_way, 2) << "the vector, and that of the other rank";
  std::printf("a third way: %ld allocations\n", allocations.number());
}

/// A vector that was added in part is in no sum.
TEST(ExactSums, LackMemoryForAVector) {
  constexpr int ranks = 2;
  FailingAllocations allocations;
  while (allocations.more()) {
    const Watchdog watchdog(allocations.name());
    LoopbackHub hub(ranks);
    std::string errors[ranks];
    in_threads(ranks, [&](int rank) {
      Communicator communicator(hub.transport(rank));
      ExactSum sum(64, ElementType::f32);
      const std::vector<float> vector(64, 1.0f);
      std::vector<float> output(64);
      if (rank == 1) {
        bool threw = false;
        allocations.fail_in([&] {
          try {
            sum.add(vector);
          } catch (const Error& error) {
            threw = true;
            EXPECT_EQ(error.kind(), ErrorKind::memory) << error.what();
          }
        });
        EXPECT_EQ(threw, allocations.failed());
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
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_EQ(errors[0].find("part of it was added; reset the sum") != std::string::npos,
              allocations.failed())
        << errors[0];
  }
  EXPECT_GE(allocations.number(), 4) << "a vector takes memory for each 16 elements";
}

}  // namespace
}  // namespace cohom::test
