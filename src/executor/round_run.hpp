#pragma once
// RoundRun: one round of a plan, run unit by unit through its schedule.
//
// It owns no thread and no clock. The executor tells it what arrived and asks it for one slice of
// codec work at a time, which a worker may run; everything else (which send may go, which merge is
// now possible) follows from the schedule's data flow. Its parts: PayloadLocations, DataFlow,
// AgreedPieces, CodecWork, Messenger, OffloadReplay.

#include "executor/agreed_pieces.hpp"
#include "executor/codec_work.hpp"
#include "executor/data_flow.hpp"
#include "executor/messenger.hpp"
#include "executor/offload_replay.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"
#include "executor/slice.hpp"
#include "executor/slice_crew.hpp"
#include "executor/task_queue.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// What a round is made of. Everything pointed at outlives it.
struct RoundSetup {
  int number = 0;  ///< among the codec's rounds
  Round* round = nullptr;
  Schedule schedule;
  const Chunking* chunking = nullptr;
  const kernels::KernelTable* kernels = nullptr;  ///< of `memory`
  Memory* memory = &host_memory();                ///< where the round's words lie
  ElementType type = ElementType::f32;
  std::size_t message_bytes = 0;
  Tuning tuning;
  SliceCrew* crew = nullptr;  ///< of the executor
  std::size_t workers = 0;    ///< of it
};

class RoundRun;

/// What a round needs for one call.
struct RoundCall {
  Channel* channel = nullptr;
  Profile* profile = nullptr;  ///< null: nobody wants to know
  std::span<const std::unique_ptr<RoundRun>> earlier =
      {};                   ///< rounds whose agreement is waited for
  bool hold_sends = false;  ///< the second half of each sequence's, until release_sends()
  /// The user's memory, where words may lie in it; null where they may not.
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  bool in_place = false;  ///< decoding overwrites the input
  /// The aggregator promotes contributions: they are encoded narrow.
  std::optional<Promotion> promotion = {};
};

class RoundRun final : private SliceOwner {
 public:
  explicit RoundRun(RoundSetup setup);
  RoundRun(const RoundRun&) = delete;
  RoundRun& operator=(const RoundRun&) = delete;

  [[nodiscard]] std::size_t workspace_words() const { return layout_.workspace_words(); }
  /// Where they lie.
  [[nodiscard]] Memory& memory() const { return memory_; }
  void set_workspace(std::uint64_t* words) { locations_.set_workspace(words); }
  [[nodiscard]] bool offloads() const { return layout_.links().offloads(); }
  /// Reductions that one call starts at the aggregator.
  [[nodiscard]] std::size_t reductions() const { return replay_.reductions(); }
  /// Words of the longest.
  [[nodiscard]] std::size_t longest_reduction() const { return replay_.longest(); }
  /// Whether sums do not replace the contributions.
  [[nodiscard]] bool keeps_contributions() const { return layout_.links().keeps_contributions(); }

  void begin(const RoundCall& call);
  /// From now on messages may leave: all ranks agreed that the call is right. `reduction` only when
  /// the schedule has offload steps.
  void release(Reduction* reduction = nullptr);
  void complete(const Completion& completion);
  [[nodiscard]] bool holds_sends() const { return messenger_.holds_sends(); }
  void release_sends() { messenger_.release_sends(); }

  /// Words of contributions that were given to the first `reduction`, of release().
  [[nodiscard]] std::size_t words_handed_over() const { return replay_.words_handed_over(); }
  /// Whether all reductions are complete.
  [[nodiscard]] bool summed() const { return replay_.summed(); }
  /// Restarts every reduction begun so far, and starts all that follow, with `reduction`. Those
  /// that are complete here restart, too, because other ranks still need this rank's contributions.
  void repeat_reductions(Reduction& reduction) { messenger_.repeat_reductions(reduction); }

  // One slice of work each, begun or given away; false when there is none that can run now.
  bool encode_for_send();
  bool encode_for_merge();
  bool merge_one();
  bool decode_one();

  [[nodiscard]] std::size_t pending_sends() const { return messenger_.pending_sends(); }
  [[nodiscard]] bool done() const { return flow_.done(); }
  /// Which rank it waits for, or `aggregator`, the name of who sums; empty when it waits for
  /// nobody. For messages.
  [[nodiscard]] std::string waits_for(std::string_view aggregator) const {
    return messenger_.waits_for(aggregator);
  }

  /// Whether this round's agreement covers the piece.
  [[nodiscard]] bool agreed(std::size_t piece) const { return agreed_.has(piece); }
  [[nodiscard]] NeededBy needed_by() const { return round_.traits().needed_by; }
  [[nodiscard]] bool all_agreed() const { return agreed_.has_all(); }

 private:
  [[nodiscard]] const Schedule& schedule() const { return layout_.schedule(); }
  [[nodiscard]] const Step& step_of(const Task& task) const { return schedule().steps[task.step]; }

  void write_slot(std::uint32_t slot, std::uint32_t unit, std::size_t words);
  void wake(const Task& task);
  bool continue_encoding();
  bool encode_if_ready(const Task* task);
  void encode(const Task& task);
  void start(Slice slice);
  void run(Slice& slice) override { work_.run(slice); }
  void take(const Slice& slice) override;
  [[nodiscard]] Phase phase_of(SliceKind kind) const;
  [[nodiscard]] bool may_encode(const Task& task) const;
  [[nodiscard]] bool may_decode(const Task& task) const;
  [[nodiscard]] bool agreed_before(const MessageUnit& unit, NeededBy needed_by) const;
  [[nodiscard]] bool input_being_sent(const Task& task) const;
  void expect_right_payload(const Task& task, std::size_t bytes);
  void take_arrival(const Messenger::Arrival& arrival);
  void give_back_sources(const Task& task);

  Round& round_;
  Memory& memory_;
  RoundLayout layout_;
  PayloadLocations locations_;
  DataFlow flow_;
  AgreedPieces agreed_;
  CodecWork work_;
  OffloadReplay replay_;
  Messenger messenger_;
  TaskQueue decodes_;
  SliceCrew& crew_;
  std::size_t min_given_bytes_;
  RoundCall call_;  ///< in flight
};

}  // namespace cohom
