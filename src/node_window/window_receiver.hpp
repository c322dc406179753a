#pragma once
// WindowReceiver: the messages of another rank of the node to this one.

#include "node_window/node_window.hpp"

#include <cohom/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cohom {

/// A message, or a part of one, that was announced. It lies at its sender until it is taken, or is
/// here.
struct Arrival {
  int rank = 0;                      ///< its sender
  const std::byte* words = nullptr;  ///< in the sender's window; null: it is here
  std::size_t bytes = 0;
  bool last = true;  ///< of the parts of its message
  std::uint32_t mark = 0, use = 0;
  Descriptor::Content content = {};
  std::vector<std::byte> copy = {};  ///< of what `content` has no room for
  bool is_void = false;              ///< its sender ended its call before it was copied
};

class WindowReceiver {
 public:
  /// `peer`: the index in the node of the sender, which is rank `rank` of the communicator; `own`
  /// this rank's. Both windows outlive it.
  WindowReceiver(NodeWindow& window, const PeerWindow& peer_window, std::size_t own,
                 std::size_t peer, int rank);

  struct Announced {
    std::uint32_t channel = 0;
    std::uint32_t tag = 0;
    Arrival arrival;
  };
  /// The next one. Each is to be taken. @throws Error(transport) for one that cannot be
  std::optional<Announced> next();
  /// Copies its bytes to where there is room for them. @throws Error(transport) where the sender
  /// has ended its call, and its words are void
  void take(const Arrival& arrival, std::byte* to);
  /// Takes it, whose bytes were read where they lie. @throws Error(transport) as take() does
  void give_back(const Arrival& arrival);
  /// Copies what lies at the sender to here, as nobody asked for it yet and the sender needs room.
  /// @throws std::bad_alloc
  void keep(Arrival& arrival);
  /// Takes it without its bytes.
  void drop(const Arrival& arrival) noexcept;
  /// The sender waits for room, so what nobody asked for yet is to be taken as well.
  [[nodiscard]] bool sender_is_short_of_room() const {
    return notes_->short_of_room.load(std::memory_order_relaxed) != 0;
  }

 private:
  [[nodiscard]] Announced read(const RingEntry& entry) const;
  [[nodiscard]] bool give_room_back(const Arrival& arrival);
  [[noreturn]] void throw_void() const;
  [[noreturn]] void throw_wrong(const char* what, std::uint64_t value) const;

  Receipts* receipts_;
  const PeerWindow& peer_window_;
  const RingEntry* ring_;
  const SenderNotes* notes_;
  int rank_;
  std::uint64_t position_ = 0;
};

}  // namespace cohom
