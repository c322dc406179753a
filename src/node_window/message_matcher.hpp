#pragma once
// MessageMatcher: which message of a channel belongs to which receive, in the order of each sender
// and tag.

#include "node_window/fifo.hpp"
#include "node_window/window_receiver.hpp"
#include "transport/completion_queue.hpp"

#include <cohom/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace cohom {

/// Its memory grows to what calls once needed and stays.
class MessageMatcher {
 public:
  /// A message, or a part of one, that is to be copied into the memory of a receive.
  struct Match {
    Arrival arrival;
    std::byte* to = nullptr;
    bool too_long = false;                      ///< the receive has no room for it
    bool may_lend = false;                      ///< it may stay where it lies
    std::optional<Completion> completion = {};  ///< of the receive, with its last part
  };

  void arrive(int peer, std::uint32_t tag, Arrival arrival);
  /// `may_lend`: the message may stay where it lies.
  void post(int peer, std::uint32_t tag, std::span<std::byte> buffer, std::uint64_t cookie,
            bool may_lend);

  [[nodiscard]] bool has_match() const { return !matches_.empty(); }
  /// The oldest one.
  Match pop_match();

  /// What arrived from a rank, and no receive was posted for.
  template <class Visit>
  void for_each_unexpected(int rank, Visit&& visit) {
    if (unexpected_ == 0) return;
    for (auto& [key, sequence] : sequences_)
      for (Arrival& arrival : sequence.arrived)
        if (arrival.rank == rank) visit(arrival);
  }

  /// Whether a receive waits for a message of the rank.
  [[nodiscard]] bool waits_for(int peer) const;
  /// Nobody waits for messages, and none came that nobody waited for.
  [[nodiscard]] bool is_idle() const { return posted_ == 0 && unexpected_ == 0 && !has_match(); }
  [[nodiscard]] bool has_receives() const { return posted_ != 0 || has_match(); }
  /// Forgets receives; calls drop(arrival) for what they would have got.
  template <class Drop>
  void end_receives(Drop&& drop) {
    for (const Match& match : matches_) drop(match.arrival);
    matches_.clear();
    if (posted_ == 0) return;
    for (auto& [key, sequence] : sequences_) sequence.posted.clear();
    posted_ = 0;
  }

 private:
  struct Posted {
    std::span<std::byte> buffer;
    std::uint64_t cookie = 0;
    bool may_lend = false;
    std::size_t filled = 0;
  };
  struct Sequence {
    Fifo<Arrival> arrived;
    Fifo<Posted> posted;
  };

  static std::uint64_t key_of(int peer, std::uint32_t tag) {
    return std::uint64_t(peer) << 32 | tag;
  }
  void match(Sequence& sequence, Arrival arrival);

  std::unordered_map<std::uint64_t, Sequence> sequences_;
  Fifo<Match> matches_;
  std::size_t posted_ = 0, unexpected_ = 0;
};

}  // namespace cohom
