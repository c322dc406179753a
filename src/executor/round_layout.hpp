#pragma once
// RoundLayout: what one round of a plan looks like before any call: which pieces travel together,
// where every slot lies in the workspace, who reads what. Computed once, read-only afterwards.

#include "codecs/common/round.hpp"
#include "executor/chunking.hpp"
#include "schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

/// What goes through the pipeline at once: one piece of a chunk; where the schedule has one chunk
/// and the payload's has more, the pieces of one segment of all chunks; in a round of scope
/// `vector`, all pieces.
struct Unit {
  std::size_t first_piece = 0;
  std::size_t pieces = 0;
  std::size_t offset[2] = {0, 0};    ///< words before it in a buffer, by form
  std::size_t capacity[2] = {0, 0};  ///< words, by form
  std::size_t finished = 0;          ///< words of a complete sum on its way
  bool aliasable = false;            ///< one piece whose elements fill whole words
};

/// A step on one unit: what the executor runs.
struct Task {
  std::uint32_t step = 0;
  std::uint32_t unit = 0;
};

class RoundLayout {
 public:
  RoundLayout(const Round& round, Schedule schedule, const Chunking& chunking, ElementType type);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const std::vector<Unit>& units_of_chunk(std::uint32_t chunk) const {
    return units_[chunk];
  }
  [[nodiscard]] const std::vector<Unit>& units_of(const Step& step) const {
    return units_[schedule_.chunk_of(step)];
  }
  [[nodiscard]] const Unit& unit(std::uint32_t slot, std::uint32_t unit) const {
    return units_[schedule_.slots[slot].chunk][unit];
  }

  /// Most words the slot's unit holds once it is written: a complete sum may be finished.
  [[nodiscard]] std::size_t capacity(std::uint32_t slot, std::uint32_t unit) const {
    const Slot& s = schedule_.slots[slot];
    const Unit& u = units_[s.chunk][unit];
    return s.contributions == std::uint32_t(schedule_.ranks) && schedule_.ranks > 1
               ? u.finished
               : u.capacity[std::size_t(s.form)];
  }

  /// Words of the longest unit.
  [[nodiscard]] std::size_t longest_unit(Form form) const;

  /// Dense numbers for per-task and per-(slot, unit) arrays.
  [[nodiscard]] std::size_t task_index(const Task& task) const {
    return step_base_[task.step] + task.unit;
  }
  [[nodiscard]] std::size_t slot_index(std::uint32_t slot, std::uint32_t unit) const {
    return slot_base_[slot] + unit;
  }
  [[nodiscard]] std::size_t tasks() const { return tasks_; }
  [[nodiscard]] std::size_t slot_units() const { return slot_units_; }

  /// Words before the slot's unit in the workspace.
  [[nodiscard]] std::size_t workspace_offset(std::uint32_t slot, std::uint32_t unit) const;
  [[nodiscard]] std::size_t workspace_words() const { return workspace_words_; }

  [[nodiscard]] const std::vector<std::uint32_t>& consumers(std::uint32_t slot) const {
    return consumers_[slot];
  }
  [[nodiscard]] std::uint32_t producer(std::uint32_t slot) const { return producer_[slot]; }
  [[nodiscard]] bool is_contribution(std::uint32_t slot) const {
    return schedule_.steps[producer_[slot]].kind == StepKind::encode;
  }
  /// The slot of this rank's contribution to the chunk, or Step::no_slot.
  [[nodiscard]] std::uint32_t contribution(std::uint32_t chunk) const {
    return contribution_[chunk];
  }
  /// Whether the buffer's last slot is decoded, so that it may lie in the user's output.
  [[nodiscard]] bool buffer_decoded(std::uint32_t buffer) const { return buffer_decoded_[buffer]; }
  [[nodiscard]] bool offloads() const { return offloads_; }
  [[nodiscard]] bool keeps_contributions() const { return keeps_contributions_; }

  /// Encode tasks in the order they should run: those that feed a send, and the others.
  [[nodiscard]] const std::vector<Task>& encodes_for_send() const { return encodes_for_send_; }
  [[nodiscard]] const std::vector<Task>& encodes_for_merge() const { return encodes_for_merge_; }

  /// The chunk of the schedule that a piece belongs to, and the unit of that chunk.
  [[nodiscard]] std::uint32_t chunk_of_piece(std::size_t piece) const {
    return piece_chunk_[piece];
  }
  [[nodiscard]] std::uint32_t unit_of_piece(std::size_t piece) const { return piece_unit_[piece]; }

 private:
  void make_units(const Round& round, const Chunking& chunking, ElementType type);
  void measure_unit(const Round& round, std::span<const Piece> pieces, ElementType type,
                    Unit& unit) const;
  void lay_out_buffers();
  void index_steps();
  void order_encodes();

  Schedule schedule_;
  std::vector<std::vector<Unit>> units_;  ///< by chunk
  std::vector<std::uint32_t> piece_chunk_, piece_unit_;
  std::vector<std::size_t> buffer_base_;
  std::vector<bool> buffer_decoded_;
  std::vector<std::size_t> step_base_, slot_base_;
  std::vector<std::vector<std::uint32_t>> consumers_;
  std::vector<std::uint32_t> producer_;      ///< by slot
  std::vector<std::uint32_t> contribution_;  ///< by chunk
  std::vector<Task> encodes_for_send_, encodes_for_merge_;
  std::size_t workspace_words_ = 0, tasks_ = 0, slot_units_ = 0;
  bool offloads_ = false;
  bool keeps_contributions_ = true;  ///< no offload overwrites one
};

}  // namespace cohom
