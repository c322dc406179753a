#pragma once
// DataFlow: which tasks of a schedule can run, counted from the slots that are written. It knows no
// codec, no payload and no transport.

#include "executor/round_layout.hpp"
#include "executor/task_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class DataFlow {
 public:
  /// `layout` outlives it. Takes all memory: a rank that lacks some in a call could not tell the
  /// others.
  explicit DataFlow(const RoundLayout& layout);
  DataFlow(const DataFlow&) = delete;
  DataFlow& operator=(const DataFlow&) = delete;

  void begin();
  [[nodiscard]] bool done() const { return pending_ == 0; }

  /// A task is over, whatever it wrote. It may be run again later: see reopen().
  void done() { --pending_; }
  void reopen() { ++pending_; }
  /// A slot's unit is written: tasks that read it may become ready.
  void slot_written(std::uint32_t slot, std::uint32_t unit);

  /// Tasks that became ready since they were asked for, in order: sends, offloads, decodes.
  [[nodiscard]] bool has_woken() const { return !woken_.empty(); }
  Task pop_woken() { return woken_.pop(); }
  /// Whether a send or an offload has what it reads.
  [[nodiscard]] bool ready(const Task& task) const { return ready_[layout_.task_index(task)]; }

  /// Merges and joins that can run.
  [[nodiscard]] TaskQueue& merges() { return merges_; }

  // Encode tasks, each of which runs once.

  [[nodiscard]] bool encoded(const Task& task) const { return encoded_[layout_.task_index(task)]; }
  void set_encoded(const Task& task) { encoded_[layout_.task_index(task)] = true; }
  /// What just arrived wants to be merged with contributions of this rank: encode those next.
  void demand_encodes(std::uint32_t slot, std::uint32_t unit);
  /// The next one that feeds a send, or a merge: what was demanded first. Null: there is none.
  [[nodiscard]] const Task* next_encode_for_send() {
    return next_of(layout_.encodes_for_send(), send_encodes_next_);
  }
  [[nodiscard]] const Task* next_demanded();
  [[nodiscard]] const Task* next_encode_for_merge() {
    return next_of(layout_.encodes_for_merge(), merge_encodes_next_);
  }

 private:
  [[nodiscard]] const Schedule& schedule() const { return layout_.schedule(); }
  const Task* next_of(const std::vector<Task>& tasks, std::size_t& next) const;
  [[nodiscard]] std::uint16_t sources_with_unit(const Step& step, std::uint32_t unit) const;
  [[nodiscard]] bool has_unit(std::uint32_t step, std::uint32_t unit) const;

  const RoundLayout& layout_;
  std::size_t pending_ = 0;             ///< tasks not done
  std::vector<std::uint16_t> missing_;  ///< by task: sources not ready yet
  std::vector<bool> ready_;             ///< by task
  std::vector<bool> encoded_;           ///< by task
  std::size_t send_encodes_next_ = 0, merge_encodes_next_ = 0;
  TaskQueue demanded_, merges_, woken_;
};

}  // namespace cohom
