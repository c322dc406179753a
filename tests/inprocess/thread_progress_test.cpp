// Threads that advance each other's communicators: who destroys one, and when.

#include "call/progress_thread.hpp"
#include "forwarding_transport.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>
#include <cohom/profile.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

using namespace std::chrono_literals;

struct Meeting {
  std::atomic<bool> armed = false;   ///< the helper's next look at the channel waits
  std::atomic<bool> inside = false;  ///< the helper is in there
  std::atomic<bool> destroying = false;
  std::thread::id helper, destroyer;
};

class MeetingTransport final : public ForwardingTransport {
 public:
  MeetingTransport(std::shared_ptr<Transport> transport, Meeting& meeting)
      : ForwardingTransport(std::move(transport)), meeting_(meeting) {}
  ~MeetingTransport() override { meeting_.destroyer = std::this_thread::get_id(); }

  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<MeetingChannel>(ForwardingTransport::open(number), meeting_);
  }

 private:
  class MeetingChannel final : public ForwardingChannel {
   public:
    MeetingChannel(std::unique_ptr<Channel> channel, Meeting& meeting)
        : ForwardingChannel(std::move(channel)), meeting_(meeting) {}
    std::size_t poll(std::span<Completion> out) override {
      if (std::this_thread::get_id() == meeting_.helper && meeting_.armed.exchange(false)) {
        meeting_.inside = true;
        while (!meeting_.destroying) std::this_thread::yield();
        std::this_thread::sleep_for(50ms);  // it has begun by then
      }
      return ForwardingChannel::poll(out);
    }

   private:
    Meeting& meeting_;
  };

  Meeting& meeting_;
};

/// A thread that only helped was the last to let go, and destroyed what was another's.
TEST(ThreadProgress, ACommunicatorIsDestroyedByItsOwner) {
  const Watchdog watchdog("a communicator that another thread advances");
  Meeting meeting;
  LoopbackHub hub(2), other_hub(2);  // the second rank of both never comes
  std::optional<Communicator> owned;
  owned.emplace(std::make_shared<MeetingTransport>(hub.transport(0), meeting));
  Request request;
  float one = 1, two = 2;
  const Options options{.codec = "raw", .algorithm = "ring", .timeout = 0.4};
  std::jthread helper([&] {
    meeting.helper = std::this_thread::get_id();
    request = allreduce_start(&one, &one, 1, ElementType::f32, *owned, options);
    meeting.armed = true;
    Communicator other(other_hub.transport(0));
    EXPECT_THROW(allreduce(&two, &two, 1, ElementType::f32, other, options), Error);
  });
  while (!meeting.inside) std::this_thread::yield();
  meeting.destroying = true;
  owned.reset();
  EXPECT_EQ(meeting.destroyer, std::this_thread::get_id());
  EXPECT_THROW(request.wait(), Error) << "it waits for a rank that never comes";
}

/// progress=thread: a rank that does something else after its start keeps nobody waiting.
TEST(ProgressThread, AdvancesCallsOfARankThatDoesNothing) {
  const Watchdog watchdog("a rank that does nothing");
  constexpr int ranks = 3;
  LoopbackHub hub(ranks);
  std::atomic<int> others_done = 0;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Communicator communicator(hub.transport(rank));
      Options options{.codec = "exact", .algorithm = "ring", .segment = 1024};
      if (rank == 1) options.progress = "thread";
      for (int call = 1; call <= 5; ++call) {
        std::vector<float> data(20'000, static_cast<float>(call));
        Request request = allreduce_start(data.data(), data.data(), data.size(), ElementType::f32,
                                          communicator, options);
        while (rank == 1 && others_done < call * (ranks - 1)) std::this_thread::sleep_for(1ms);
        request.wait();
        EXPECT_EQ(data[0], static_cast<float>(ranks * call)) << "rank " << rank;
        if (rank != 1) ++others_done;
      }
    });
}

/// Plans, profiles and counters are used while the thread advances calls.
TEST(ProgressThread, ShareTheCommunicatorWithTheCaller) {
  const Watchdog watchdog("calls that two threads advance");
  constexpr int ranks = 2;
  LoopbackHub hub(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Communicator communicator(hub.transport(rank));
      Profile profile;
      communicator.set_profile(&profile);
      const Options options{.codec = "thc:error_feedback=on",
                            .algorithm = "direct",
                            .segment = 1024,
                            .progress = "thread"};
      AllreducePlan plan(communicator, 10'000, ElementType::f32, options);
      std::vector<float> data(10'000, 1.0f), sum(10'000), others(5'000, 1.0f);
      for (int call = 0; call < 20; ++call) {
        plan.start(data.data(), sum.data());
        Request request = allreduce_start(others.data(), others.data(), others.size(),
                                          ElementType::f32, communicator, {.codec = "raw"});
        const AllreducePlan short_lived(communicator, 100, ElementType::f32, {.codec = "raw"});
        static_cast<void>(communicator.wire_counters());
        request.wait();
        plan.wait();
        EXPECT_NEAR(sum[0], ranks, 1);
        others.assign(5'000, 1.0f);
      }
      communicator.set_profile(nullptr);
      EXPECT_GT(profile.seconds(Phase::encode), 0);
    });
}

class NotInOwnThread final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  [[nodiscard]] std::string why_not_in_own_thread() const override { return "it is shy"; }
};

TEST(ProgressThread, AForkedProcessHasNone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of programs with threads";
#endif
  const Watchdog watchdog("fork");
  auto thread = ProgressThread::shared();
  std::this_thread::sleep_for(20ms);  // it waits for calls then
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    thread.reset();  // joins nobody
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ProgressThread, IsRefusedWhereItCannotBe) {
  LoopbackHub hub(1);
  const auto error_of = [&](std::shared_ptr<Transport> transport, const Options& options) {
    Communicator communicator(std::move(transport));
    try {
      const AllreducePlan plan(communicator, 1, ElementType::f32, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of(hub.transport(0), {.progress = "thread"}), "");
  EXPECT_NE(error_of(hub.transport(0), {.progress = "threads"})
                .find("progress=threads is neither call nor thread"),
            std::string::npos);
  EXPECT_NE(error_of(std::make_shared<NotInOwnThread>(hub.transport(0)), {.progress = "thread"})
                .find("progress=thread: it is shy; take progress=call"),
            std::string::npos);
}

}  // namespace
}  // namespace cohom::test
