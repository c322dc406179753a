// Transports that fail: the error reaches the caller, a later call says what it was, and nothing
// hangs.

#include "base/tags.hpp"
#include "forwarding_transport.hpp"
#include "loopback_ranks.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

/// What a call says; nothing when it works.
std::optional<std::string> error_of_call(Communicator& communicator, double timeout = 0) {
  std::vector<float> data(10, 1.0f);
  try {
    allreduce(std::span(data), communicator, {.codec = "raw", .timeout = timeout});
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

class UnreachableTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  std::unique_ptr<Channel> open(std::uint32_t) override {
    throw Error(ErrorKind::transport, "nobody is there");
  }
};

/// A call that fails before its first message is over at once; nothing waits for it, and nothing
/// frees it twice.
TEST(FailingTransport, ACallThatCannotBegin) {
  const Watchdog watchdog("a call that cannot begin");
  LoopbackHub hub(1);
  auto communicator =
      std::make_optional<Communicator>(std::make_shared<UnreachableTransport>(hub.transport(0)));
  // More of them than there are channels.
  for (std::uint32_t i = 0; i < 2 * hub.transport(0)->channels() + 2; ++i)
    EXPECT_EQ(error_of_call(*communicator), "nobody is there");
  const float input = 1;
  float output = 0;
  Request request = allreduce_start(&input, &output, 1, ElementType::f32, *communicator);
  EXPECT_THROW(request.wait(), Error);
  communicator.reset();
  EXPECT_THROW(request.wait(), Error) << "the request outlives its communicator";
}

/// Its channels break at the first message after `error` is set; then it says that it is broken.
class CutTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  const char* error = nullptr;

  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<CutChannel>(ForwardingTransport::open(number), *this);
  }
  [[nodiscard]] std::optional<Error> failure() const override {
    if (!broken_) return std::nullopt;
    return Error(ErrorKind::transport, "it is broken");
  }

 private:
  class CutChannel final : public ForwardingChannel {
   public:
    CutChannel(std::unique_ptr<Channel> channel, CutTransport& transport)
        : ForwardingChannel(std::move(channel)), transport_(transport) {}
    void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
              std::uint64_t cookie) override {
      if (const char* const error = std::exchange(transport_.error, nullptr)) {
        transport_.broken_ = true;
        throw Error(ErrorKind::transport, error);
      }
      ForwardingChannel::send(data, peer, tag, cookie);
    }

   private:
    CutTransport& transport_;
  };

  bool broken_ = false;
};

TEST(FailingTransport, LaterCallsQuoteTheErrorThatBrokeIt) {
  const Watchdog watchdog("later calls quote the error");
  constexpr int ranks = 2;
  LoopbackHub hub(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = std::make_shared<CutTransport>(hub.transport(rank));
      Communicator communicator(transport);
      EXPECT_EQ(error_of_call(communicator), std::nullopt);
      transport->error = "the wire is cut";
      EXPECT_EQ(error_of_call(communicator), "the wire is cut");
      transport->error = "and cut once more";
      for (int i = 0; i < 3; ++i) {
        const auto error = error_of_call(communicator);
        ASSERT_TRUE(error);
        EXPECT_NE(error->find("it is broken; the first error was: the wire is cut"),
                  std::string::npos)
            << *error;
      }
    });
}

/// Its channels break once after `error` is set, at the first message that arrives.
class DeafTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  const char* error = nullptr;

  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<DeafChannel>(ForwardingTransport::open(number), *this);
  }

 private:
  class DeafChannel final : public ForwardingChannel {
   public:
    DeafChannel(std::unique_ptr<Channel> channel, DeafTransport& transport)
        : ForwardingChannel(std::move(channel)), transport_(transport) {}
    std::size_t poll(std::span<Completion> out) override {
      const std::size_t count = ForwardingChannel::poll(out);
      for (const Completion& completion : out.first(count))
        if (transport_.error != nullptr && !is_sent(completion.cookie))
          throw Error(ErrorKind::transport, std::exchange(transport_.error, nullptr));
      return count;
    }

   private:
    DeafTransport& transport_;
  };
};

/// Rank 1 is in the call that rank 0 left, until its timeout ends it.
TEST(FailingTransport, WhoLeftACallWaitsForNobodyInTheNext) {
  const Watchdog watchdog("a call after one that was left");
  LoopbackHub hub(3);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = std::make_shared<DeafTransport>(hub.transport(rank));
      Communicator communicator(transport);
      if (rank == 1) {
        EXPECT_NE(error_of_call(communicator, 0.3).value_or("").find("no progress"),
                  std::string::npos);
        return;
      }
      transport->error = "nothing can be heard";
      EXPECT_EQ(error_of_call(communicator), "nothing can be heard");
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(error_of_call(communicator),
                  "rank 0: an earlier call on this communicator ended early on this rank; make a "
                  "new communicator; the first error was: nothing can be heard");
    });
}

/// Rank 0 leaves a call after it has sent all that rank 1 waits for.
TEST(FailingTransport, WhoLeftACallTellsThoseThatCompletedIt) {
  const Watchdog watchdog("a call that one rank left at its end");
  LoopbackHub hub(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = std::make_shared<DeafTransport>(hub.transport(rank));
      Communicator communicator(transport);
      EXPECT_EQ(error_of_call(communicator), std::nullopt);
      if (rank == 0) transport->error = "nothing can be heard";
      const auto error = error_of_call(communicator);
      EXPECT_EQ(error,
                rank == 0 ? std::optional<std::string>("nothing can be heard") : std::nullopt);
      for (int i = 0; i < 2; ++i)
        EXPECT_EQ(error_of_call(communicator),
                  "rank 0: an earlier call on this communicator ended early on this rank; make a "
                  "new communicator; the first error was: nothing can be heard");
    });
}

}  // namespace
}  // namespace cohom::test
