#pragma once
// Messenger: the messages of one round, and its reductions at an aggregator: which may leave, how
// many are under way, and what has arrived.

#include "base/tags.hpp"
#include "executor/data_flow.hpp"
#include "executor/offload_replay.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"

#include <cohom/profile.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// Limits of the pipeline. Tests shrink them to find deadlocks.
struct Tuning {
  std::size_t max_units_sending = 4;    ///< units of one sequence being sent
  std::size_t max_units_receiving = 8;  ///< units of one sequence with receives posted
  std::size_t max_units_offloaded =
      16;                          ///< units at the aggregator, whose answer is a round trip away
  std::size_t low_sends = 6;       ///< encode before anything else while fewer sends are open
  std::size_t sends_per_peer = 3;  ///< encode before decoding while fewer sends a peer are open
  std::size_t min_given_bytes = std::size_t{64} << 10;  ///< slices that workers run have no less
  bool takes_back = true;  ///< the caller runs slices that no worker has begun, when it is idle
};

class Messenger {
 public:
  struct Setup {
    int round = 0;  ///< its number among the codec's
    std::size_t message_bytes = 0;
    bool may_borrow = false;  ///< what others send may be read where they have it
    Tuning tuning;
  };
  /// What is referred to outlives it.
  Messenger(const Setup& setup, const RoundLayout& layout, const PayloadLocations& locations,
            DataFlow& flow, OffloadReplay& replay);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// `hold_sends`: the second half of each sequence's, until release_sends().
  void begin(Channel& channel, Profile* profile, bool hold_sends);
  /// From now on messages may leave.
  void release();
  [[nodiscard]] bool is_released() const { return released_; }
  [[nodiscard]] bool holds_sends() const { return hold_sends_; }
  void release_sends();
  /// A task of a send or an offload has what it reads.
  void wake(const Task& task) { post(sequences_[sequence_of_step_[task.step]]); }
  /// Restarts every reduction begun so far, and starts all that follow, with `reduction`.
  void repeat_reductions(Reduction& reduction);

  struct Arrival {
    Task task;
    std::size_t bytes = 0;  ///< of receives and reductions
    /// Where a message lies that its sender lends, until it is given back; null: in its place.
    const std::byte* lent = nullptr;
  };
  /// Takes a completion. What is complete with it: the task of a receive or a reduction; none for
  /// sends, and while messages of the task are under way. post_next() comes after it.
  std::optional<Arrival> complete(const Completion& completion);
  /// What an Arrival lent is read no more. @throws Error(transport)
  void give_back(const std::byte* lent) { channel_->give_back(lent); }
  /// Posts what may follow the task of a completion.
  void post_next(std::uint64_t cookie) { wake(task_of(cookie)); }

  [[nodiscard]] std::size_t pending_sends() const { return pending_sends_; }
  /// Whether the task's messages have all left or arrived.
  [[nodiscard]] bool is_done(const Task& task) const {
    return messages_left_[layout_.task_index(task)] == 0;
  }
  /// RoundRun::waits_for().
  [[nodiscard]] std::string waits_for(std::string_view aggregator) const;

 private:
  /// Units of one send, receive or offload step: they are posted in order.
  struct MessageSequence {
    std::uint32_t step = 0;
    std::size_t next = 0;
    std::size_t in_flight = 0;
  };

  [[nodiscard]] const Schedule& schedule() const { return layout_.schedule(); }
  [[nodiscard]] const Step& step_of(const Task& task) const { return schedule().steps[task.step]; }
  [[nodiscard]] std::size_t messages(std::size_t words) const;
  [[nodiscard]] std::uint64_t cookie(const Task& task) const;
  static Task task_of(std::uint64_t cookie) {
    return {step_of_cookie(cookie), unit_of_cookie(cookie)};
  }
  [[nodiscard]] std::uint32_t tag(const Step& step) const;
  [[nodiscard]] std::size_t window_of(StepKind kind) const;
  void post(MessageSequence& sequence);
  void post_send(const Task& task);
  void post_receive(const Task& task);
  [[nodiscard]] bool may_be_lent(const Step& step, std::uint32_t unit) const;

  Setup setup_;
  const RoundLayout& layout_;
  const PayloadLocations& locations_;
  DataFlow& flow_;
  OffloadReplay& replay_;
  std::vector<std::uint32_t> sequence_of_step_;
  std::vector<MessageSequence> sequences_;

  // Of the call in flight.
  Channel* channel_ = nullptr;
  Profile* profile_ = nullptr;
  bool released_ = false;
  bool hold_sends_ = false;
  std::size_t pending_sends_ = 0;
  std::vector<std::uint32_t> messages_left_;   ///< by task: under way, or 1 before it is posted
  std::vector<std::uint32_t> received_bytes_;  ///< by task
};

}  // namespace cohom
