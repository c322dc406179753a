#pragma once
// What every transport must do. A transport's own test says how to get ranks of it:
//
//   struct MyCluster {
//     static std::vector<int> rank_counts();           // how many ranks to test with
//     static constexpr bool sends_to_itself = false;   // whether a rank may be its own peer
//     // Calls `body` once on every rank, at the same time.
//     static void run(int ranks, const std::function<void(Transport&)>& body);
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, TransportContract, MyCluster);

#include "support/thoroughness.hpp"
#include "transport_driver.hpp"

#include <cohom/error.hpp>
#include <cohom/transport.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace cohom::testing {

template <class Cluster>
class TransportContract : public ::testing::Test {
 protected:
  template <class Body>
  static void on_all_ranks(Body&& body) {
    for (const int ranks : Cluster::rank_counts()) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      Cluster::run(ranks, body);
    }
  }
};

TYPED_TEST_SUITE_P(TransportContract);

TYPED_TEST_P(TransportContract, SaysWhoTakesPart) {
  this->on_all_ranks([](Transport& transport) {
    EXPECT_FALSE(transport.name().empty());
    EXPECT_GE(transport.rank(), 0);
    EXPECT_LT(transport.rank(), transport.ranks());
    EXPECT_TRUE(transport.reaches(MemorySpace::host));
    EXPECT_GE(transport.preferred_message_bytes(), 64u);
    // Both ends of a message must cut a payload alike.
    const auto channel = transport.open(2);
    const std::uint64_t mine = transport.preferred_message_bytes();
    std::vector<std::uint64_t> theirs(std::size_t(transport.ranks()), mine);
    Driver driver(*channel);
    for (const int peer : peers_of(transport)) {
      driver.receive(std::as_writable_bytes(std::span(&theirs[std::size_t(peer)], 1)), peer, 0);
      driver.send(std::as_bytes(std::span(&mine, 1)), peer, 0);
    }
    driver.finish();
    for (const std::uint64_t bytes : theirs) EXPECT_EQ(bytes, mine);
  });
}

TYPED_TEST_P(TransportContract, DeliversMessagesOfEverySize) {
  this->on_all_ranks([](Transport& transport) {
    if (transport.ranks() == 1) return;
    const auto channel = transport.open(3);
    constexpr std::size_t most = (test::sanitized ? 2 : 8) << 20;
    constexpr std::size_t sizes[] = {1, 7, 4096, 65535, 65536, 1 << 20, most + 5, most};
    for (const std::size_t bytes : sizes) {
      const auto sent = pattern(bytes, std::uint64_t(transport.rank()));
      std::vector<std::byte> received(bytes);
      pass_right(transport, *channel, sent, received);
      EXPECT_TRUE(received == pattern(bytes, std::uint64_t(left_of(transport))))
          << bytes << " bytes";
    }
  });
}

TYPED_TEST_P(TransportContract, ReportsEachRequestOnceWithItsBytes) {
  this->on_all_ranks([](Transport& transport) {
    const auto channel = transport.open(4);
    Driver driver(*channel);
    const auto sent = pattern(300, 1);
    std::vector<std::vector<std::byte>> received;
    std::vector<std::uint64_t> receives, sends;
    for (const int peer : peers_of(transport)) {
      received.emplace_back(300);
      receives.push_back(driver.receive(received.back(), peer, 9));
      sends.push_back(driver.send(sent, peer, 9));
    }
    driver.finish();  // fails for a cookie that is unknown or comes twice
    for (const std::uint64_t cookie : receives) EXPECT_EQ(driver.bytes_of(cookie), 300u);
    for (const std::uint64_t cookie : sends) EXPECT_EQ(driver.bytes_of(cookie), 300u);
    std::vector<Completion> out(4);
    EXPECT_EQ(channel->poll(out), 0u) << "nothing is open any more";
  });
}

TYPED_TEST_P(TransportContract, DeliversEmptyMessages) {
  this->on_all_ranks([](Transport& transport) {
    const auto channel = transport.open(5);
    Driver driver(*channel);
    std::vector<std::byte> room(16, std::byte{0x5a});
    std::vector<std::uint64_t> receives;
    for (const int peer : peers_of(transport)) {
      receives.push_back(driver.receive({}, peer, 1));
      receives.push_back(driver.receive(room, peer, 2));
      driver.send({}, peer, 1);
      driver.send({}, peer, 2);
    }
    driver.finish();
    for (const std::uint64_t cookie : receives) EXPECT_EQ(driver.bytes_of(cookie), 0u);
    EXPECT_TRUE(room == std::vector<std::byte>(16, std::byte{0x5a}));
  });
}

TYPED_TEST_P(TransportContract, ReportsTheLengthOfShorterMessages) {
  this->on_all_ranks([](Transport& transport) {
    if (transport.ranks() == 1) return;
    const auto channel = transport.open(6);
    // One below and one above any limit for sending at once.
    for (const std::size_t bytes : {std::size_t(100), std::size_t(300) << 10}) {
      const auto sent = pattern(bytes, std::uint64_t(transport.rank()));
      std::vector<std::byte> received(2 * bytes, std::byte{0x5a});
      EXPECT_EQ(pass_right(transport, *channel, sent, received), bytes);
      auto expected = pattern(bytes, std::uint64_t(left_of(transport)));
      expected.resize(2 * bytes, std::byte{0x5a});
      EXPECT_TRUE(received == expected) << bytes << " bytes, and nothing behind them";
    }
  });
}

TYPED_TEST_P(TransportContract, RefusesAMessageLongerThanItsReceive) {
  this->on_all_ranks([](Transport& transport) {
    if (transport.ranks() == 1) return;
    for (const std::size_t bytes : {std::size_t(100), std::size_t(300) << 10}) {
      const auto sent = pattern(bytes, 2);
      std::vector<std::byte> received(bytes);
      {
        const auto channel = transport.open(7);
        try {
          pass_right(transport, *channel, sent, std::span(received).first(bytes / 2));
          ADD_FAILURE() << bytes << " bytes went into half their room";
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::transport) << error.what();
        }
      }
      const auto channel = transport.open(8);  // the next call is not harmed
      pass_right(transport, *channel, sent, received);
      EXPECT_TRUE(received == sent);
    }
  });
}

TYPED_TEST_P(TransportContract, KeepsTheOrderOfATag) {
  this->on_all_ranks([](Transport& transport) {
    constexpr std::size_t count = test::sanitized ? 20 : 60;
    const auto size_of_message = [](std::size_t i) { return i % 3 == 0 ? 200000 + i : 8 + i; };
    const auto channel = transport.open(9);
    Driver driver(*channel);
    std::vector<std::vector<std::byte>> sent, received;
    for (std::size_t i = 0; i < count; ++i)
      sent.push_back(pattern(size_of_message(i), i + 1000 * std::uint64_t(transport.rank())));
    for (const int peer : peers_of(transport)) {
      for (std::size_t i = 0; i < count; ++i) {
        received.emplace_back(size_of_message(i));
        driver.receive(received.back(), peer, 77);
      }
      for (std::size_t i = 0; i < count; ++i) driver.send(sent[i], peer, 77);
    }
    driver.finish();
    std::size_t next = 0;
    for (const int peer : peers_of(transport))
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_TRUE(received[next++] == pattern(size_of_message(i), i + 1000 * std::uint64_t(peer)))
            << "message " << i << " from rank " << peer;
  });
}

TYPED_TEST_P(TransportContract, MatchesByTag) {
  this->on_all_ranks([](Transport& transport) {
    constexpr std::uint32_t tags[] = {0, 1, 4711, Transport::tag_limit - 1};
    const auto channel = transport.open(10);
    Driver driver(*channel);
    const auto content = [](std::uint32_t tag, int from) {
      return pattern(500, tag + 31 * std::uint64_t(from));
    };
    std::vector<std::vector<std::byte>> sent, received;
    for (const std::uint32_t tag : tags) sent.push_back(content(tag, transport.rank()));
    for (const int peer : peers_of(transport)) {
      for (std::size_t i = 0; i < std::size(tags); ++i) driver.send(sent[i], peer, tags[i]);
      for (std::size_t i = std::size(tags); i-- > 0;) {  // the other way round
        received.emplace_back(500);
        driver.receive(received.back(), peer, tags[i]);
      }
    }
    driver.finish();
    std::size_t next = 0;
    for (const int peer : peers_of(transport))
      for (std::size_t i = std::size(tags); i-- > 0;)
        EXPECT_TRUE(received[next++] == content(tags[i], peer)) << "tag " << tags[i];
  });
}

TYPED_TEST_P(TransportContract, KeepsManyMessagesInFlight) {
  this->on_all_ranks([](Transport& transport) {
    constexpr std::size_t count = 400;
    const auto channel = transport.open(11);
    Driver driver(*channel, /*completions a poll=*/3);
    std::vector<std::uint64_t> sent(count), received(count * std::size_t(transport.ranks()), 0);
    for (std::size_t i = 0; i < count; ++i) sent[i] = i + 1000 * std::uint64_t(transport.rank());
    for (const int peer : peers_of(transport)) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = count * std::size_t(peer) + i;
        driver.receive(std::as_writable_bytes(std::span(received).subspan(place, 1)), peer,
                       std::uint32_t(i % 7));
      }
    }
    for (std::size_t i = 0; i < count; ++i)
      for (const int peer : peers_of(transport))
        driver.send(std::as_bytes(std::span(sent).subspan(i, 1)), peer, std::uint32_t(i % 7));
    driver.finish();
    for (const int peer : peers_of(transport))
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(received[count * std::size_t(peer) + i], i + 1000 * std::uint64_t(peer));
  });
}

TYPED_TEST_P(TransportContract, KeepsChannelsApart) {
  this->on_all_ranks([](Transport& transport) {
    // Neighbours in the tags: the first two, and the last with the first.
    for (const std::uint32_t first : {0u, transport.channels() - 1}) {
      const auto a = transport.open(first);
      const auto b = transport.open((first + 1) % transport.channels());
      Driver on_a(*a), on_b(*b);
      const auto sent_on_a = pattern(900, 1), sent_on_b = pattern(900, 2);
      std::vector<std::vector<std::byte>> from_a, from_b;
      for (const int peer : peers_of(transport)) {
        on_a.send(sent_on_a, peer, 0);
        on_b.send(sent_on_b, peer, 0);
        on_b.receive(from_b.emplace_back(900), peer, 0);
      }
      on_b.finish();  // although messages of the other channel came first
      for (const int peer : peers_of(transport)) on_a.receive(from_a.emplace_back(900), peer, 0);
      on_a.finish();
      for (const auto& message : from_a) EXPECT_TRUE(message == sent_on_a);
      for (const auto& message : from_b) EXPECT_TRUE(message == sent_on_b);
    }
  });
}

TYPED_TEST_P(TransportContract, CountsWhatItSends) {
  this->on_all_ranks([](Transport& transport) {
    const auto channel = transport.open(12);
    const WireCounters before = transport.counters();
    Driver driver(*channel);
    const auto sent = pattern(70000, 1);
    std::vector<std::vector<std::byte>> received;
    std::uint64_t bytes = 0, messages = 0;
    for (const int peer : peers_of(transport)) {
      for (const std::size_t size : {std::size_t(0), std::size_t(13), std::size_t(70000)}) {
        driver.receive(received.emplace_back(70000), peer, 0);
        driver.send(std::span(sent).first(size), peer, 0);
        bytes += size;
        ++messages;
      }
    }
    driver.finish();
    EXPECT_EQ(transport.counters().bytes_sent - before.bytes_sent, bytes);
    EXPECT_EQ(transport.counters().messages_sent - before.messages_sent, messages);
  });
}

/// A rank that sends again and again, always with a send to report, must look for messages as well.
TYPED_TEST_P(TransportContract, ReceivesWhileItSends) {
  using namespace std::chrono_literals;
  this->on_all_ranks([](Transport& transport) {
    constexpr std::size_t count = 50;  // short ones, that no buffer on the way is too small for
    if (transport.ranks() == 1) return;
    const auto channel = transport.open(14);
    Driver driver(*channel);
    std::vector<std::uint64_t> sent(count, 1), received(count, 0);
    std::vector<std::uint64_t> receives;
    for (std::uint64_t& word : received)
      receives.push_back(
          driver.receive(std::as_writable_bytes(std::span(&word, 1)), left_of(transport), 0));
    bool seen = false;
    for (const std::uint64_t& word : sent) {
      if (!seen) std::this_thread::sleep_for(20ms);
      driver.send(std::as_bytes(std::span(&word, 1)), right_of(transport), 0);
      driver.poll();
      seen = seen || driver.is_done(receives.front());
    }
    EXPECT_TRUE(seen);
    driver.finish();
  });
}

TYPED_TEST_P(TransportContract, SurvivesRandomInterleavings) {
  this->on_all_ranks([](Transport& transport) {
    for (std::uint64_t seed = 1; seed <= (test::races_only ? 2 : 4); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      exchange_in_random_order(transport, seed);
    }
  });
}

TYPED_TEST_P(TransportContract, SendsToItselfIfItSaysSo) {
  if (!TypeParam::sends_to_itself) GTEST_SKIP() << "this transport has no messages to oneself";
  this->on_all_ranks([](Transport& transport) {
    const auto channel = transport.open(13);
    const auto sent = pattern(100000, 4);
    std::vector<std::byte> received(100000);
    Driver driver(*channel);
    driver.receive(received, transport.rank(), 0);
    driver.send(sent, transport.rank(), 0);
    driver.finish();
    EXPECT_TRUE(received == sent);
  });
}

REGISTER_TYPED_TEST_SUITE_P(TransportContract, SaysWhoTakesPart, DeliversMessagesOfEverySize,
                            ReportsEachRequestOnceWithItsBytes, DeliversEmptyMessages,
                            ReportsTheLengthOfShorterMessages, RefusesAMessageLongerThanItsReceive,
                            KeepsTheOrderOfATag, MatchesByTag, KeepsManyMessagesInFlight,
                            KeepsChannelsApart, CountsWhatItSends, ReceivesWhileItSends,
                            SurvivesRandomInterleavings, SendsToItselfIfItSaysSo);

}  // namespace cohom::testing
