#pragma once
// SendWindow: a run of a group's slots, and the reductions that pass through it one after the
// other.
//
// Packets of a window are numbered 0, 1, 2, ... over all its reductions, in an order that all ranks
// have: calls in the order in which they are opened, their reductions as started, words from the
// first on. Packet q of a window of W slots takes slot q mod W for the (q div W)-th time. So slot
// and sequence number follow from what is summed, never from when, and a packet waits for no packet
// but earlier ones of its window.

#include "aggregation/protocol/control_message.hpp"
#include "aggregation/protocol/packet.h"

#include <cohom/merge.hpp>
#include <cohom/promotion.hpp>
#include <cohom/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace cohom::offload {

/// What is known of the reductions of one round of one call.
struct ReductionSequence {
  struct Sum {
    const std::uint64_t* contribution = nullptr;
    std::uint64_t* sum = nullptr;
    std::size_t words = 0;
    std::size_t cut = 0;      ///< words that have their packets
    std::size_t arrived = 0;  ///< words
    std::uint8_t merge = 0;   ///< merge_code()
    std::uint64_t cookie = 0;
    std::uint32_t number = 0;
    const Promotion* promotion = nullptr;  ///< of a narrow contribution; null: it is wide
    std::size_t narrow_words = 0;          ///< of the whole contribution
  };

  std::uint64_t call = 0;
  std::uint32_t round = 0;
  std::size_t announced = 0;
  std::size_t started = 0;
  std::deque<Sum> sums = {};  ///< started; references stay valid
  std::size_t next_to_cut = 0;
  std::size_t completed = 0;
  std::size_t leaving = 0;                  ///< messages that are read from its memory still
  std::deque<Completion> completions = {};  ///< not reported yet

  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum,
             std::uint8_t merge, std::uint64_t cookie, const Promotion* promotion = nullptr);
  /// Whether no packet of it will be cut any more.
  [[nodiscard]] bool all_cut() const { return started == announced && next_to_cut == sums.size(); }
};

class SendWindow {
 public:
  using Time = std::chrono::nanoseconds;  ///< of a clock of the caller's

  /// A packet under way.
  struct Flight {
    ReductionSequence* reductions = nullptr;  ///< null: the slot is free
    ReductionSequence::Sum* sum = nullptr;
    std::uint64_t number = 0;
    std::size_t offset = 0;
    std::uint16_t words = 0;
    int tries = 0;  ///< how often it was sent
    bool hurried = false;
    bool waited = false;  ///< the aggregator said that others are missing
    Time first_sent{}, sent{};
  };

  SendWindow(std::uint32_t first_slot, std::uint32_t slots, std::size_t packet_words)
      : first_slot_(first_slot),
        packet_words_(packet_words),
        flights_(slots),
        congestion_window_(slots) {}

  [[nodiscard]] std::span<Flight> flights() { return flights_; }
  [[nodiscard]] std::size_t under_way() const { return under_way_; }

  /// The sequence waits for its turn, behind those that have entered before.
  void enter(ReductionSequence& reductions) { sequences_.push_back(&reductions); }
  void leave(const ReductionSequence& reductions);

  /// Cuts the next packet, if it has words to send and its slot is free; its flight, not sent yet.
  Flight* cut();
  /// The packet of a flight, up to what the group knows.
  void describe(const Flight& flight, cohom_header& packet) const;
  /// The flight that a packet from the aggregator answers; null: none any more.
  Flight* find(const cohom_header& packet);
  /// The flight that has been under way for longest; null: there is none.
  Flight* oldest();
  /// Takes the sum and frees the slot.
  void complete(Flight& flight, std::span<const std::byte> words);
  /// A packet was lost, maybe in a queue that had no room: fewer are under way from now on, then
  /// slowly more again (AIMD, as TCP's). What was sent before the last loss was noticed says
  /// nothing new.
  void lost(const Flight& flight);
  /// Whether packets sent well after this one have been answered: then this one was lost, or is
  /// late by so much that sending it again costs less than waiting.
  [[nodiscard]] bool overtaken(const Flight& flight) const {
    return flight.number + overtaking < highest_completed_;
  }

 private:
  static constexpr std::uint64_t overtaking = 6;
  static constexpr double min_congestion_window = 4;
  /// More packets under way a round trip; losses at random then cost little.
  static constexpr double growth = 4;

  std::uint32_t first_slot_;
  std::size_t packet_words_;
  std::vector<Flight> flights_;  ///< by slot
  std::deque<ReductionSequence*> sequences_;
  std::uint64_t next_ = 0;
  std::uint64_t highest_completed_ = 0;
  double congestion_window_;        ///< packets that may be under way
  std::uint64_t known_losses_ = 0;  ///< packets before this one belong to a loss that is known
  std::size_t under_way_ = 0;
};

/// The windows that all ranks cut a group's slots into. Rounds have windows of their own, so that a
/// payload never waits for an agreement of its own call that depends on it.
std::vector<SendWindow> send_windows_of(const Admitted& admitted);

}  // namespace cohom::offload
