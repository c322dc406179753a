#pragma once
// Tools of the transport contract: polling that fails instead of hanging, and message contents.

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace cohom::testing {

std::vector<int> peers_of(const Transport& transport);  ///< all ranks but this one
int left_of(const Transport& transport);
int right_of(const Transport& transport);

/// Bytes that differ between seeds and between positions.
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed);

/// Starts requests on a channel with cookies of its own, and waits for all of them.
class Driver {
 public:
  explicit Driver(Channel& channel, std::size_t completions_a_poll = 16)
      : channel_(channel), out_(completions_a_poll) {}

  /// Both return the cookie.
  std::uint64_t send(std::span<const std::byte> data, int peer, std::uint32_t tag);
  std::uint64_t receive(std::span<std::byte> buffer, int peer, std::uint32_t tag);

  /// Polls once. A completion that was not asked for, or comes twice, is a test failure.
  void poll();
  /// Until all requests are complete, and what was sent has left. @throws std::runtime_error after
  /// 30 seconds
  void finish();
  [[nodiscard]] bool is_done(std::uint64_t cookie) const { return done_.contains(cookie); }
  /// Of a completed request.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t cookie) const { return done_.at(cookie); }

 private:
  Channel& channel_;
  std::vector<Completion> out_;
  std::uint64_t started_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> done_;
};

/// Sends to the right neighbour and receives from the left one; returns the bytes that arrived.
std::size_t pass_right(const Transport& transport, Channel& channel,
                       std::span<const std::byte> sent, std::span<std::byte> received);

/// All ranks send each other messages of random sizes and tags, started in an order of their own
/// between polls, and check what arrives. Ranks must be given the same seed.
void exchange_in_random_order(Transport& transport, std::uint64_t seed);

}  // namespace cohom::testing
