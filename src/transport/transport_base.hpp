#pragma once
// TransportBase, ChannelBase: what transports between processes have in common.
//
// Their libraries can neither take back a message that has left nor end one that is arriving. So a
// call that ends early waits for its messages for a while, and the transport is of no more use when
// some of them are still under way: a later call could take them for its own.

#include <cohom/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace cohom {

class TransportBase : public Transport {
 public:
  [[nodiscard]] int rank() const final { return rank_; }
  [[nodiscard]] int ranks() const final { return ranks_; }
  [[nodiscard]] std::size_t preferred_message_bytes() const final { return message_bytes_; }
  /// Once a channel gave up messages that were under way.
  [[nodiscard]] std::optional<Error> failure() const final;
  [[nodiscard]] WireCounters counters() const final { return counters_; }
  [[nodiscard]] std::shared_ptr<const Topology> topology() const final { return topology_; }

 protected:
  TransportBase(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  /// Of the constructor, before there are channels.
  void set_message_bytes(std::size_t bytes) { message_bytes_ = bytes; }
  /// Likewise: topology_of_told().
  void set_topology(std::shared_ptr<const Topology> topology) { topology_ = std::move(topology); }

 private:
  friend class ChannelBase;

  int rank_, ranks_;
  std::size_t message_bytes_ = 0;
  bool call_ended_early_ = false;
  WireCounters counters_;
  std::shared_ptr<const Topology> topology_;
};

/// The destructor of a channel calls end(). What is open after that is sends that nobody takes; it
/// leaves them to the library below.
class ChannelBase : public Channel {
 public:
  [[nodiscard]] bool ends_at_once() const final { return false; }
  /// Cancels receives, and waits for the rest as long as the transport's patience is. Once messages
  /// were given up, no later call waits.
  bool give_up() noexcept final;

 protected:
  /// `transport` outlives the channel.
  ChannelBase(TransportBase& transport, std::chrono::milliseconds patience)
      : base_(transport), patience_(patience) {}

  /// Gives up, and waits for receives that cannot be cancelled, however long it takes: their memory
  /// is being written to.
  void end() noexcept;
  /// Of a message that was sent; one to this rank itself is never on a wire.
  void count_sent(int peer, std::size_t bytes);
  /// @throws Error(transport) for a tag that is none
  static void expect_tag(std::uint32_t tag);

 private:
  /// Makes progress without waiting. @returns whether nothing is open any more, or nothing can be
  /// done about it
  virtual bool advance() noexcept = 0;
  /// Ends the receives that have met no message; nobody asks for completions any more. Once.
  virtual void cancel_receives() noexcept = 0;
  /// Whether a message is open, so that its memory may be read or written to.
  [[nodiscard]] virtual bool uses_memory() const noexcept = 0;
  /// Whether a receive is open that must be waited for.
  [[nodiscard]] virtual bool is_being_written_to() const noexcept = 0;

  TransportBase& base_;
  std::chrono::milliseconds patience_;
  bool gave_up_ = false;
};

}  // namespace cohom
