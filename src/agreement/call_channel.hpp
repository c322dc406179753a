#pragma once
// CallChannel: the channel of a call's agreement, its ranks, and how many requests are under way.

#include "base/tags.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

class CallChannel {
 public:
  /// The channel outlives it.
  CallChannel(Channel& channel, int rank, int ranks)
      : channel_(channel), rank_(rank), ranks_(ranks) {}

  void send(std::span<const std::byte> bytes, int peer, std::uint32_t tag) {
    ++pending_;
    channel_.send(bytes, peer, tag, call_cookie(true));
  }
  /// Not to a rank that cannot be reached any more.
  void try_send(std::span<const std::byte> bytes, int peer, std::uint32_t tag);
  /// `section`: what index_of_cookie() of the completion says.
  void receive(std::span<std::byte> bytes, int peer, std::uint32_t tag, std::size_t section = 0) {
    ++pending_;
    channel_.receive(bytes, peer, tag, call_cookie(false, section));
  }
  /// What arrives may stay where its sender has it (Completion::lent), until it is given back.
  void receive_or_lend(std::span<std::byte> bytes, int peer, std::uint32_t tag) {
    ++pending_;
    channel_.receive_or_lend(bytes, peer, tag, call_cookie(false));
  }
  void give_back(const std::byte* lent) { channel_.give_back(lent); }
  /// A request is no longer under way.
  void complete() { --pending_; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] std::size_t pending() const { return pending_; }

  /// @throws Error(transport) where a message has another length
  static void expect_bytes(std::size_t arrived, std::size_t right, int from);
  /// @throws Error(transport): words of this rank were changed on their way
  [[noreturn]] static void throw_changed(int from);

 private:
  Channel& channel_;
  int rank_, ranks_;
  std::size_t pending_ = 0;
};

}  // namespace cohom
