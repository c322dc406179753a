#pragma once
// NodeTransport: messages inside a node by windows of shared memory, and all others by another
// transport.

#include "node_window/message_matcher.hpp"
#include "node_window/node_board.hpp"
#include "node_window/node_window.hpp"
#include "node_window/process_watch.hpp"
#include "node_window/window_receiver.hpp"
#include "node_window/window_sender.hpp"

#include <cohom/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// The windows of a node's ranks, as one of them has them.
struct NodeWindows {
  struct Peer {
    int rank = 0;                        ///< in the communicator
    std::unique_ptr<PeerWindow> window;  ///< null, or not used: this rank's own
    ProcessWatch process = {};
  };

  std::size_t own = 0;  ///< this rank's place among the peers
  std::shared_ptr<NodeWindow> window;
  std::vector<Peer> peers;  ///< by index in the node, this rank included
};

class NodeTransport final : public Transport {
 public:
  /// All ranks of the node must have each other's windows. `transport` carries what goes to other
  /// nodes, and reaches no device.
  NodeTransport(std::shared_ptr<Transport> transport, NodeWindows windows);
  NodeTransport(const NodeTransport&) = delete;
  NodeTransport& operator=(const NodeTransport&) = delete;

  [[nodiscard]] std::string_view name() const override { return transport_->name(); }
  [[nodiscard]] int rank() const override { return transport_->rank(); }
  [[nodiscard]] int ranks() const override { return transport_->ranks(); }
  [[nodiscard]] std::size_t preferred_message_bytes() const override {
    return transport_->preferred_message_bytes();
  }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return transport_->reaches(space);
  }
  [[nodiscard]] std::unique_ptr<Registration> register_memory(std::span<std::byte> memory,
                                                              MemorySpace space) override {
    return transport_->register_memory(memory, space);
  }
  [[nodiscard]] std::unique_ptr<MessageMemory> take_memory(std::size_t bytes) override {
    return windows_.window->take_memory(bytes);
  }
  [[nodiscard]] std::uint32_t channels() const override { return transport_->channels(); }
  void check_thread() const override { transport_->check_thread(); }
  std::unique_ptr<Channel> open(std::uint32_t number) override;
  /// Of few ranks that are one node.
  [[nodiscard]] CallBoard* take_board() override;
  [[nodiscard]] std::shared_ptr<const Topology> topology() const override {
    return transport_->topology();
  }
  [[nodiscard]] std::string why_not_in_own_thread() const override {
    return transport_->why_not_in_own_thread();
  }
  [[nodiscard]] std::optional<Error> failure() const override;
  /// Of both: what travels inside the node counts as what leaves it.
  [[nodiscard]] WireCounters counters() const override;

 private:
  friend class NodeChannel;

  /// What is under way in a channel, with the receives that wait and the messages that nobody asked
  /// for yet.
  struct Mailbox {
    MessageMatcher matcher;
    CompletionQueue completed;
    std::vector<Arrival> lent;  ///< words that are being read
  };
  /// What goes between this rank and another one.
  struct Link {
    int rank = 0;
    std::size_t peer = 0;  ///< among the windows
    WindowSender sender;
    WindowReceiver receiver;
    ProcessWatch process;
    bool has_ended = false;
  };

  /// Null: it is not on this node, or is this rank.
  [[nodiscard]] Link* link_to(int rank) {
    const std::size_t index = link_of_rank_[static_cast<std::size_t>(rank)];
    return index < links_.size() ? &links_[index] : nullptr;
  }
  [[nodiscard]] Mailbox& mailbox(std::uint32_t number) {
    return mailboxes_[number] ? *mailboxes_[number] : take_mailbox(number);
  }
  [[nodiscard]] Mailbox& take_mailbox(std::uint32_t number);
  [[nodiscard]] bool is_one_node() const {
    return windows_.peers.size() == static_cast<std::size_t>(transport_->ranks());
  }
  void keep_mailbox(std::uint32_t number) noexcept;
  /// Takes in what was announced, and sends what waits. @throws Error(memory) where there is none
  /// to send from; Error(transport), every time, once a window is wrong
  bool advance();
  bool take_in(Link& link);
  void take_unexpected(Link& link);
  /// @throws Error(transport) where a process has ended that the mailbox waits for
  void expect_alive(const Mailbox& mailbox);
  void look_at_processes();

  std::shared_ptr<Transport> transport_;
  /// Where nothing goes beyond the node: makes progress for whatever else uses the other transport.
  std::unique_ptr<Channel> beyond_;
  NodeWindows windows_;
  std::vector<Link> links_;                          ///< by peer, this rank left out
  std::vector<std::size_t> link_of_rank_;            ///< links_.size(): none
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;  ///< by number of the channel; may be null
  std::vector<std::unique_ptr<Mailbox>> idle_mailboxes_;
  std::optional<Error> wrong_window_;
  bool call_ended_early_ = false;
  std::chrono::steady_clock::time_point last_look_ = {};
  WireCounters counters_;
  std::unique_ptr<NodeBoard> board_;  ///< once it is taken
};

}  // namespace cohom
