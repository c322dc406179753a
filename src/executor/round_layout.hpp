#pragma once
// RoundLayout: what one round of a plan looks like before any call: which pieces travel together,
// where every slot lies in the workspace, who reads what. Computed once, read-only afterwards.

#include "codecs/common/round.hpp"
#include "executor/chunking.hpp"
#include "executor/message_units.hpp"
#include "executor/schedule_links.hpp"
#include "schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// A step on one unit: what the executor runs.
struct Task {
  std::uint32_t step = 0;
  std::uint32_t unit = 0;
};

class RoundLayout {
 public:
  RoundLayout(const Round& round, Schedule schedule, const Chunking& chunking, ElementType type);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  /// Units that a step runs on: those of the slot that it writes, or else of the one it reads.
  [[nodiscard]] const std::vector<MessageUnit>& units_of(const Step& step) const {
    return units_of(schedule_.slot_of(step));
  }
  [[nodiscard]] const std::vector<MessageUnit>& units_of(std::uint32_t slot) const {
    return units_.of_slot(slot);
  }
  [[nodiscard]] const MessageUnit& unit(std::uint32_t slot, std::uint32_t unit) const {
    return units_.of_slot(slot)[unit];
  }

  /// Whether the slot holds all contributions of several: its sum may be finished.
  [[nodiscard]] bool is_complete(std::uint32_t slot) const {
    return schedule_.slots[slot].contributions == std::uint32_t(schedule_.ranks) &&
           schedule_.ranks > 1;
  }
  /// Most words the slot's unit holds once it is written.
  [[nodiscard]] std::size_t capacity(std::uint32_t slot, std::uint32_t unit) const {
    const MessageUnit& u = units_.of_slot(slot)[unit];
    return is_complete(slot) ? u.finished_words
                             : u.capacity[std::size_t(schedule_.slots[slot].form)];
  }

  /// Words of the longest unit.
  [[nodiscard]] std::size_t longest_unit(Form form) const { return units_.longest(form); }

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
  [[nodiscard]] std::size_t workspace_offset(std::uint32_t slot, std::uint32_t unit) const {
    return offset_[slot_index(slot, unit)];
  }
  [[nodiscard]] std::size_t workspace_words() const { return workspace_words_; }

  /// Who writes and who reads each slot.
  [[nodiscard]] const ScheduleLinks& links() const { return links_; }
  [[nodiscard]] bool is_contribution(std::uint32_t slot) const {
    return schedule_.steps[links_.producer(slot)].kind == StepKind::encode;
  }

  /// Encode tasks in the order they should run: those that feed a send, and the others.
  [[nodiscard]] const std::vector<Task>& encodes_for_send() const { return encodes_for_send_; }
  [[nodiscard]] const std::vector<Task>& encodes_for_merge() const { return encodes_for_merge_; }

 private:
  void number_tasks();
  void lay_out_buffers(const Round& round, std::span<const Piece> pieces);
  [[nodiscard]] std::vector<std::uint32_t> joined_into(const Round& round) const;
  void place_buffer(std::uint32_t slot, std::vector<std::size_t>& bases);
  void place_in_join(std::uint32_t slot, std::uint32_t joined, const Round& round,
                     std::span<const Piece> pieces);
  void order_encodes();

  Schedule schedule_;
  MessageUnits units_;
  ScheduleLinks links_;
  std::vector<std::size_t> step_base_, slot_base_;
  std::vector<std::size_t> offset_;  ///< by slot and unit: words before it in the workspace
  std::vector<Task> encodes_for_send_, encodes_for_merge_;
  std::size_t workspace_words_ = 0, tasks_ = 0, slot_units_ = 0;
};

}  // namespace cohom
