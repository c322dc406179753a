#pragma once
// NodeChannel: the messages of one call, inside the node and beyond it.

#include "base/free_list.hpp"
#include "node_window/node_transport.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cohom {

class NodeChannel final : public Channel, public Recycled<NodeChannel> {
 public:
  /// `transport` outlives the channel; `channel` is of the one that it wraps, and null where
  /// nothing goes beyond the node.
  NodeChannel(NodeTransport& transport, std::uint32_t number, std::unique_ptr<Channel> channel)
      : transport_(transport), number_(number), channel_(std::move(channel)) {}
  ~NodeChannel() override { end(); }
  NodeChannel(const NodeChannel&) = delete;
  NodeChannel& operator=(const NodeChannel&) = delete;

  /// Of a communicator that is one node: nobody else writes to this rank's memory.
  [[nodiscard]] bool ends_at_once() const override;
  bool give_up() noexcept override;
  /// @throws Error(memory), Error(transport)
  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override;
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override;
  void receive_or_lend(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                       std::uint64_t cookie) override;
  void give_back(const std::byte* lent) override;
  /// @throws Error(transport) where a message is longer than its receive, another rank of the node
  /// has ended, or its window is wrong
  std::size_t poll(std::span<Completion> out) override;
  bool flushed() override;

 private:
  using Mailbox = NodeTransport::Mailbox;

  [[nodiscard]] Mailbox& mailbox() { return transport_.mailbox(number_); }
  void take_matches();
  void take_match(const MessageMatcher::Match& match);
  std::size_t poll_beyond(std::span<Completion> out);
  [[nodiscard]] bool has_left();
  [[nodiscard]] bool is_under_way();
  [[nodiscard]] Channel& beyond() { return channel_ ? *channel_ : *transport_.beyond_; }
  [[nodiscard]] Channel& own_channel_beyond();
  void end() noexcept;

  NodeTransport& transport_;
  std::uint32_t number_;
  std::unique_ptr<Channel> channel_;
  std::size_t open_beyond_ = 0;  ///< requests of channel_
  std::size_t idle_polls_ = 0;   ///< since something moved
  bool has_failed_ = false;      ///< a message that it took is lost
  bool ended_ = false;
};

}  // namespace cohom
