#include "transport_driver.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

namespace cohom::testing {

std::vector<int> peers_of(const Transport& transport) {
  std::vector<int> peers;
  for (int i = 1; i < transport.ranks(); ++i)
    peers.push_back((transport.rank() + i) % transport.ranks());
  return peers;
}

int left_of(const Transport& transport) {
  return (transport.rank() + transport.ranks() - 1) % transport.ranks();
}

int right_of(const Transport& transport) { return (transport.rank() + 1) % transport.ranks(); }

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> result(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (auto& byte : result) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return result;
}

std::uint64_t Driver::send(std::span<const std::byte> data, int peer, std::uint32_t tag) {
  channel_.send(data, peer, tag, started_);
  return started_++;
}

std::uint64_t Driver::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag) {
  channel_.receive(buffer, peer, tag, started_);
  return started_++;
}

void Driver::poll() {
  const std::size_t count = channel_.poll(out_);
  ASSERT_LE(count, out_.size());
  for (const Completion& completion : std::span(out_).first(count)) {
    EXPECT_LT(completion.cookie, started_) << "a cookie nobody gave";
    EXPECT_TRUE(done_.emplace(completion.cookie, completion.bytes).second)
        << "cookie " << completion.cookie << " came twice";
  }
}

void Driver::finish() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (done_.size() < started_) {
    const std::size_t before = done_.size();
    poll();
    if (done_.size() != before) continue;
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error(std::to_string(started_ - done_.size()) + " of " +
                               std::to_string(started_) + " requests did not complete");
    std::this_thread::yield();
  }
  while (!channel_.flushed()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("what was sent did not leave");
    std::this_thread::yield();
  }
}

std::size_t pass_right(const Transport& transport, Channel& channel,
                       std::span<const std::byte> sent, std::span<std::byte> received) {
  Driver driver(channel);
  const std::uint64_t cookie = driver.receive(received, left_of(transport), 5);
  driver.send(sent, right_of(transport), 5);
  driver.finish();
  return driver.bytes_of(cookie);
}

namespace {

struct Message {
  int from = 0;
  int to = 0;
  std::uint32_t tag = 0;
  std::size_t bytes = 0;
  std::uint64_t seed = 0;
};

/// The same list on all ranks: 30 messages between any two.
std::vector<Message> draw_messages(int ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Message> messages;
  for (int i = 0; i < 30 * ranks * (ranks - 1); ++i) {
    const int from = static_cast<int>(random() % std::uint64_t(ranks));
    const int distance = 1 + static_cast<int>(random() % std::uint64_t(ranks - 1));
    const std::size_t limit = std::size_t(1) << (random() % 18);
    messages.push_back({.from = from,
                        .to = (from + distance) % ranks,
                        .tag = static_cast<std::uint32_t>(random() % 3),
                        .bytes = random() % limit,
                        .seed = random()});
  }
  return messages;
}

}  // namespace

void exchange_in_random_order(Transport& transport, std::uint64_t seed) {
  if (transport.ranks() == 1) return;
  std::vector<Message> sends, receives;
  for (const Message& message : draw_messages(transport.ranks(), seed)) {
    if (message.from == transport.rank()) sends.push_back(message);
    if (message.to == transport.rank()) receives.push_back(message);
  }
  std::vector<std::vector<std::byte>> sent, received;
  std::vector<std::uint64_t> cookies;
  for (const Message& message : sends) sent.push_back(pattern(message.bytes, message.seed));
  for (const Message& message : receives) received.emplace_back(message.bytes + 3);

  const auto channel = transport.open(static_cast<std::uint32_t>(seed));
  Driver driver(*channel, 1 + seed % 5);
  std::mt19937_64 order(seed * 1000 + std::uint64_t(transport.rank()));
  std::size_t s = 0, r = 0;
  while (s < sends.size() || r < receives.size()) {
    const auto what = order() % 5;
    if (what < 2 && s < sends.size()) {
      driver.send(sent[s], sends[s].to, sends[s].tag);
      ++s;
    } else if (what < 4 && r < receives.size()) {
      cookies.push_back(driver.receive(received[r], receives[r].from, receives[r].tag));
      ++r;
    } else {
      driver.poll();
    }
  }
  driver.finish();
  for (std::size_t i = 0; i < receives.size(); ++i) {
    EXPECT_EQ(driver.bytes_of(cookies[i]), receives[i].bytes);
    received[i].resize(receives[i].bytes);
    EXPECT_TRUE(received[i] == pattern(receives[i].bytes, receives[i].seed)) << "message " << i;
  }
}

}  // namespace cohom::testing
