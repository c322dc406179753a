// Threads that advance each other's communicators: who destroys one, and when.

#include "forwarding_transport.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

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

}  // namespace
}  // namespace cohom::test
