#pragma once
// RoundRun: one round of a plan, run unit by unit through its schedule.
//
// It owns no thread and no clock. The executor tells it what arrived and asks it for one slice of
// codec work at a time; everything else (which send may go, which merge is now possible) follows
// from the schedule's data flow. round_run.cpp: data flow; round_messages.cpp; round_work.cpp.

#include "base/lap.hpp"
#include "executor/round_layout.hpp"
#include "executor/task_queue.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// Limits of the pipeline. Tests shrink them to find deadlocks.
struct Tuning {
  std::size_t send_window = 4;      ///< units of one stream being sent
  std::size_t receive_window = 8;   ///< units of one stream with receives posted
  std::size_t offload_window = 16;  ///< units at the aggregator, whose answer is a round trip away
  std::size_t low_sends = 6;        ///< encode before anything else while fewer sends are open
  std::size_t sends_per_peer = 3;   ///< encode before decoding while fewer sends a peer are open
};

/// What a round is made of. Everything pointed at outlives it.
struct RoundSetup {
  int round = 0;
  RoundInfo info;
  Schedule schedule;
  const Chunking* chunking = nullptr;
  Codec* codec = nullptr;
  const kernels::KernelTable* kernels = nullptr;  ///< of `memory`
  Memory* memory = &host_memory();                ///< where the round's words lie
  ElementType type = ElementType::f32;
  std::size_t message_bytes = 0;
  Tuning tuning;
};

class RoundRun;

/// What a round needs for one call.
struct RoundCall {
  Channel* channel = nullptr;
  const Agreed* agreed = nullptr;
  Profile* profile = nullptr;  ///< null: nobody wants to know
  std::span<const std::unique_ptr<RoundRun>> earlier =
      {};  ///< rounds whose agreement is waited for
  bool is_payload = false;
  bool hold_sends = false;  ///< the second half of each stream's, until release_sends()
  /// The user's memory, where words may lie in it; null where they may not.
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  bool in_place = false;  ///< decoding overwrites the input
  /// The aggregator widens contributions: they are encoded narrow.
  std::optional<Widening> widening = {};
};

class RoundRun {
 public:
  explicit RoundRun(RoundSetup setup);

  [[nodiscard]] std::size_t workspace_words() const { return layout_.workspace_words(); }
  /// Where they lie.
  [[nodiscard]] Memory& memory() const { return *setup_.memory; }
  void set_workspace(std::uint64_t* words) { workspace_ = words; }
  [[nodiscard]] bool offloads() const { return layout_.offloads(); }
  /// Reductions that one call starts at the aggregator.
  [[nodiscard]] std::size_t reductions() const;
  /// Words of the longest.
  [[nodiscard]] std::size_t longest_reduction() const { return layout_.longest_unit(Form::wide); }
  /// Whether sums do not replace the contributions.
  [[nodiscard]] bool keeps_contributions() const { return layout_.keeps_contributions(); }

  void begin(const RoundCall& call);
  /// From now on messages may leave: all ranks agreed that the call is right. `reduction` only when
  /// the schedule has offload steps.
  void open(Reduction* reduction = nullptr);
  void complete(std::uint64_t cookie, std::size_t bytes);
  [[nodiscard]] bool holds_sends() const { return call_.hold_sends; }
  void release_sends();

  /// Words of contributions that were given to the first `reduction`, of open().
  [[nodiscard]] std::size_t words_handed_over() const { return words_handed_over_; }
  /// Whether all reductions are complete.
  [[nodiscard]] bool summed() const { return sums_left_ == 0; }
  /// Starts all reductions that were started, and all that follow, with `reduction`; those that are
  /// complete for the sake of other ranks.
  void repeat_reductions(Reduction& reduction);

  // One slice of work each; false when there is none that can run now.
  bool encode_for_send() { return encode_next(send_encodes_); }
  bool encode_for_merge();
  bool merge_one();
  bool decode_one();

  [[nodiscard]] std::size_t open_sends() const { return open_sends_; }
  [[nodiscard]] bool finished() const { return pending_ == 0; }
  /// Which rank it waits for, or `aggregator`, the name of who sums; empty when it waits for
  /// nobody. For messages.
  [[nodiscard]] std::string waits_for(std::string_view aggregator) const;

  /// Whether this round's agreement covers the piece.
  [[nodiscard]] bool agreed(std::size_t piece) const { return agreed_[piece]; }
  [[nodiscard]] bool for_decoding() const { return setup_.info.for_decoding; }
  [[nodiscard]] bool all_agreed() const { return agreed_pieces_ == agreed_.size(); }
  /// The words agreed for the piece; all words when the round's scope is `vector`.
  [[nodiscard]] ConstWords agreed_words(const Piece& piece) const;

 private:
  /// Units of one send, receive or offload step: they are posted in order.
  struct Stream {
    std::uint32_t step = 0;
    std::size_t next = 0;
    std::size_t in_flight = 0;
  };
  struct EncodeQueue {
    const std::vector<Task>* tasks = nullptr;
    std::size_t next = 0;
  };

  [[nodiscard]] const Schedule& schedule() const { return layout_.schedule(); }
  [[nodiscard]] const Step& step_of(const Task& task) const { return schedule().steps[task.step]; }
  [[nodiscard]] std::byte* address(std::uint32_t slot, std::uint32_t unit) const;
  [[nodiscard]] ConstWords words(std::uint32_t slot, std::uint32_t unit) const;
  [[nodiscard]] std::size_t messages(std::size_t words) const;
  [[nodiscard]] std::uint64_t cookie(const Task& task) const;
  [[nodiscard]] const Piece& piece(std::size_t index) const;
  /// The one piece of a payload unit.
  [[nodiscard]] const Piece& piece_of(std::uint32_t slot, std::uint32_t unit) const;

  /// Whether the slot's unit lies in the user's output.
  [[nodiscard]] bool in_output(std::uint32_t slot, std::uint32_t unit) const;
  void expect_right_payload(const Task& task, std::size_t bytes) const;
  static void expect_length(std::size_t bytes, std::size_t right);
  void slot_ready(std::uint32_t slot, std::uint32_t unit, std::size_t words);
  void make_ready(const Task& task);
  void demand_encodes(std::uint32_t slot, std::uint32_t unit);
  bool encode_next(EncodeQueue& queue);
  bool continue_partial();
  [[nodiscard]] bool may_encode(const Task& task) const;
  [[nodiscard]] bool may_decode(const Task& task) const;
  [[nodiscard]] bool agreed_before(const Unit& unit, bool for_decoding) const;
  bool encode(const Task& task);
  void merge(const Task& task);
  std::size_t merge_words(Words result);
  std::size_t merge_packed(std::size_t elements, Words result);
  std::size_t finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words);
  [[nodiscard]] bool input_being_sent(const Task& task) const;
  void decode(const Task& task);
  void publish(const Task& task);
  [[nodiscard]] std::size_t window_of(StepKind kind) const;
  void pump(Stream& stream);
  void post_send(const Task& task);
  void post_receive(const Task& task);
  void post_offload(const Task& task);
  ConstWords widen_own(const Task& task, ConstWords narrow);
  void take_received(const Task& task);
  void take_sum(const Task& task);

  RoundSetup setup_;
  RoundLayout layout_;
  bool agrees_ = false;  ///< the words are kept for later rounds instead of decoded
  std::vector<std::uint32_t> stream_of_step_;

  // Of the call in flight.
  RoundCall call_;
  Reduction* reduction_ = nullptr;
  std::uint64_t* workspace_ = nullptr;
  bool open_ = false;
  std::size_t pending_ = 0;  ///< tasks not done
  std::size_t open_sends_ = 0;
  std::vector<Stream> streams_;
  EncodeQueue send_encodes_, merge_encodes_;
  std::vector<std::uint16_t> missing_;        ///< by task: sources not ready yet
  std::vector<std::uint32_t> messages_left_;  ///< by task: messages under way
  std::vector<bool> ready_;                   ///< by task of a stream: may be posted
  std::vector<bool> encoded_;                 ///< by task
  std::vector<bool> summed_;                  ///< by task: a reduction that is complete
  std::size_t sums_left_ = 0;
  std::size_t words_handed_over_ = 0;
  bool repeating_ = false;
  std::vector<std::uint32_t> slot_words_;      ///< by slot and unit
  std::vector<std::uint32_t> received_bytes_;  ///< by task
  std::vector<bool> agreed_;                   ///< by piece
  std::size_t agreed_pieces_ = 0;
  std::vector<std::uint32_t> agreed_slot_;  ///< by chunk
  /// Where this rank's words of a piece lie in the unit's; those of the sum lie there too.
  struct Extent {
    std::size_t begin = 0;
    std::size_t words = 0;
  };
  std::vector<Extent> extents_;  ///< by piece, of a round that agrees piece by piece
  TaskQueue demanded_, merges_, decodes_;
  /// The unit whose pieces are being encoded, one a slice.
  Task partial_{};
  std::size_t partial_pieces_ = 0, partial_words_ = 0;
  std::vector<const void*> merge_sources_;
  std::vector<ConstWords> source_words_;
  MemoryArray<std::uint64_t> packed_sum_;  ///< of one unit
};

}  // namespace cohom
