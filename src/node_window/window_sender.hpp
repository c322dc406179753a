#pragma once
// WindowSender: the messages of this rank to another one of its node.
//
// Words that lie in the window are lent: the descriptor says where, and the send completes when the
// receiver has taken them. What lies elsewhere is copied into bounce slots, in parts. A short
// message travels in its descriptor.

#include "node_window/bounce_slots.hpp"
#include "node_window/fifo.hpp"
#include "node_window/node_window.hpp"
#include "transport/completion_queue.hpp"

#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohom {

class WindowSender {
 public:
  /// `peer`: the index in the node of the receiver, which is rank `rank` of the communicator; `own`
  /// this rank's. Both windows outlive it.
  WindowSender(NodeWindow& window, const PeerWindow& peer_window, std::size_t own, std::size_t peer,
               int rank);

  struct Message {
    std::span<const std::byte> data;
    std::uint32_t channel = 0;
    std::uint32_t tag = 0;
    Completion completion;
    CompletionQueue* completed = nullptr;  ///< gets the completion
  };
  /// Starts at once, or when there is room. @throws Error(memory), Error(transport) where the
  /// receiver's receipts cannot be
  void send(const Message& message);
  /// Completes what the receiver has taken, and sends what waits. @returns whether anything moved.
  /// @throws Error(memory), Error(transport) as send() does
  bool advance();

  /// Whether nothing waits for room that reports to the queue.
  [[nodiscard]] bool has_left(const CompletionQueue& completed) const;
  /// Whether the receiver has yet to take something that reports to the queue.
  [[nodiscard]] bool awaits_receiver(const CompletionQueue& completed) const;
  /// Ends what reports to the queue: nothing of it will be read, or who read it learns that it was
  /// void. @returns whether there was anything
  bool end(const CompletionQueue& completed) noexcept;

 private:
  struct Waiting {
    Message message;
    std::size_t copied = 0;  ///< bytes that left in parts
  };
  /// Words that are lent.
  struct Open {
    std::uint32_t mark = 0;
    Completion completion;
    CompletionQueue* completed = nullptr;  ///< null: it ended
  };

  std::uint32_t next_use(std::uint32_t mark) { return uses_[mark] = use_after(uses_[mark]); }
  bool send_waiting();
  /// Whether what waits has found no room for long: who reads the words may wait for it.
  [[nodiscard]] bool is_stuck() const { return attempts_ > 1000; }
  bool start(Waiting& waiting);
  bool send_parts(Waiting& waiting);
  [[nodiscard]] bool has_entry();
  void put(const Descriptor& descriptor);
  [[nodiscard]] bool is_taken(std::uint32_t mark) const;
  [[nodiscard]] bool waits_for_room(std::uint32_t channel, std::uint32_t tag) const;
  bool complete_taken();

  NodeWindow& window_;
  int rank_;
  RingEntry* ring_;
  SenderNotes* notes_;
  const Receipts* receipts_;
  std::uint64_t position_ = 0, taken_entries_ = 0;         ///< of the ring
  std::array<std::uint32_t, window_marks> uses_{};         ///< by mark
  std::vector<std::uint32_t> free_marks_, reserve_marks_;  ///< for words that are lent
  Fifo<Waiting> waiting_;
  std::vector<Open> open_;  ///< in the order they were sent
  BounceSlots slots_;
  bool short_of_room_ = false;
  std::size_t attempts_ = 0;  ///< to send what waits, since there was usual room
};

}  // namespace cohom
