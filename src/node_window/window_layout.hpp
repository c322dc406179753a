#pragma once
// What lies where in a node window, and what a descriptor of a message says.
//
// A rank writes to its own window alone; the other ranks of its node read it. So what one rank
// tells another lies in its own window: the ring of messages that it sends, the receipts for
// messages that it took, and its words of calls that it makes.

#include "agreement/call_board.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cohom {

/// The first words of a window. Whoever maps it compares them.
struct WindowHeader {
  static constexpr std::uint64_t right_magic = 0x3477'6564'6f6e'6863;  // "chnodew4"
  using Token = std::array<std::uint64_t, 2>;

  std::uint64_t magic = 0;
  Token token = {};  ///< random
  std::uint64_t ranks = 0;
  std::uint64_t bytes = 0;
};

/// A descriptor in a ring: one cache line. The first word is written last, and says which turn of
/// the ring the others belong to.
struct alignas(64) RingEntry {
  std::array<std::atomic<std::uint64_t>, 8> words;
};
static_assert(sizeof(RingEntry) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

/// What a descriptor says of a message, or of a part of one.
struct Descriptor {
  /// Bytes that travel in the descriptor itself.
  static constexpr std::size_t max_carried_bytes = 48;
  using Content = std::array<std::uint64_t, max_carried_bytes / 8>;

  std::uint32_t tag = 0;
  std::uint32_t channel = 0;  ///< 16 bits
  bool carried = false;       ///< the bytes are in `content`
  bool last = true;           ///< of the parts of its message
  std::uint64_t bytes = 0;
  // Where it is not carried:
  std::uint64_t offset = 0;  ///< in the sender's window
  std::uint32_t mark = 0;    ///< where the receiver says that it has taken the bytes
  std::uint32_t use = 0;     ///< how often the mark was used: what it then writes there
  Content content = {};
};

/// Marks of the messages from one rank to another. The first ones are for words that the sender
/// lends; after them each bounce slot has its own. What takes several slots, which are neighbours,
/// has the mark of the first.
inline constexpr std::uint32_t lent_marks = 256;
inline constexpr std::uint32_t bounce_slot_count = 64;
inline constexpr std::uint32_t window_marks = lent_marks + bounce_slot_count;

/// Whether a receiver may keep a message for longer than a copy takes: its reader may wait for
/// others before it gives the words back, and those need room. So the last quarter of the marks,
/// and of the slots, is a reserve, which is only ever copied from. Senders use it when they are
/// stuck.
inline constexpr std::uint32_t usual_marks = lent_marks / 4 * 3;
inline constexpr std::uint32_t usual_slots = bounce_slot_count / 4 * 3;
constexpr bool may_stay(std::uint32_t mark, std::uint64_t slots) {
  if (mark < lent_marks) return mark < usual_marks;
  return mark - lent_marks + slots <= usual_slots;
}

/// The number of a mark's next use: never 0, with which receipts and notes begin.
constexpr std::uint32_t use_after(std::uint32_t use) { return use + 1 == 0 ? 1 : use + 1; }

/// In the window of who receives, for one sender.
struct alignas(64) Receipts {
  std::atomic<std::uint64_t> entries;  ///< of the ring that were read, ever
  alignas(64) std::array<std::atomic<std::uint32_t>, window_marks> taken;  ///< by mark: a use
};

/// In the window of who sends, for one receiver.
struct alignas(64) SenderNotes {
  std::atomic<std::uint32_t> short_of_room;  ///< messages wait for entries, marks or slots
  /// By mark: the use whose words must not be used any more, as the sender ended its call early.
  alignas(64) std::array<std::atomic<std::uint32_t>, window_marks> revoked;
};

/// Where a rank posts its words of a call (CallBoard), for all others; the slot is the call's
/// number modulo theirs. Words of more than `carried_bytes` lie elsewhere on the Board.
struct alignas(64) BoardSlot {
  static constexpr std::size_t carried_bytes = 120;

  /// (number + 1) << 20 | bytes, written last; 0: nothing was posted.
  std::atomic<std::uint64_t> head;
  std::array<std::byte, carried_bytes> words;
};
static_assert(sizeof(BoardSlot) == 128);

struct alignas(64) Board {
  /// This rank reads posts of calls with lower numbers no more.
  std::atomic<std::uint64_t> ended;
  /// This rank takes no part in calls from this number - 1 on, unless it posted words; 0: in all.
  std::atomic<std::uint64_t> left;
  std::array<BoardSlot, CallBoard::calls> slots;
  /// By the call's number modulo theirs.
  std::array<std::array<std::byte, CallBoard::max_bytes>, CallBoard::long_calls> long_words;
  /// Of more than max_bytes. Not there on nodes of more than max_long_ranks.
  std::array<std::array<std::byte, CallBoard::max_long_bytes>, CallBoard::longest_calls>
      longest_words;
};
static_assert(CallBoard::max_bytes % 64 == 0 && CallBoard::max_long_bytes % 64 == 0);

/// Between words and the mark that says whether they are void: who writes makes the mark first, who
/// reads looks at it last. The thread sanitizer knows no fences, and needs none to see the others.
inline void order_words_and_mark(std::memory_order order) {
#ifdef __SANITIZE_THREAD__
  (void)order;
#else
  std::atomic_thread_fence(order);
#endif
}

/// Offsets in a window of a node with so many ranks, by the other rank's index in the node. The
/// memory of payloads begins at heap().
class WindowLayout {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t ring_entries = 256;
  static constexpr std::size_t slot_bytes = std::size_t{32} << 10;

  explicit WindowLayout(std::size_t ranks) : ranks_(ranks) {}

  /// Slots that so many bytes take.
  static constexpr std::uint64_t slots_of(std::uint64_t bytes) {
    return bytes / slot_bytes + (bytes % slot_bytes != 0);
  }

  [[nodiscard]] std::size_t ring(std::size_t peer) const {
    return page + peer * ring_entries * sizeof(RingEntry);
  }
  [[nodiscard]] std::size_t receipts(std::size_t peer) const {
    return ring(ranks_) + peer * sizeof(Receipts);
  }
  [[nodiscard]] std::size_t notes(std::size_t peer) const {
    return receipts(ranks_) + peer * sizeof(SenderNotes);
  }
  [[nodiscard]] std::size_t board() const { return notes(ranks_); }
  /// Of many ranks there is none.
  [[nodiscard]] std::size_t board_bytes() const {
    if (ranks_ <= std::size_t(CallBoard::max_long_ranks)) return sizeof(Board);
    return ranks_ <= std::size_t(CallBoard::max_ranks) ? offsetof(Board, longest_words) : 0;
  }
  [[nodiscard]] std::size_t slot(std::size_t peer, std::size_t number) const {
    return (board() + board_bytes() + page - 1) / page * page +
           (peer * bounce_slot_count + number) * slot_bytes;
  }
  [[nodiscard]] std::size_t heap() const {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    return (slot(ranks_, 0) + huge_page - 1) / huge_page * huge_page;
  }

 private:
  std::size_t ranks_;
};

}  // namespace cohom
