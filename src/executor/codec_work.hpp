#pragma once
// CodecWork: the slices of a round's work: a piece encoded, a merge, a sum decoded. One thread
// deals them out and takes them in; where the codec works in several threads, any may run them.

#include "codecs/common/round.hpp"
#include "executor/agreed_pieces.hpp"
#include "executor/merge_work.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"
#include "executor/slice.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohom {

class CodecWork {
 public:
  /// What is referred to outlives it. `kernels` are those of `memory`. `workers`: of a pool, in
  /// which slices may run.
  CodecWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
            const RoundLayout& layout, PayloadLocations& locations, AgreedPieces& agreed,
            std::size_t workers);
  CodecWork(const CodecWork&) = delete;
  CodecWork& operator=(const CodecWork&) = delete;

  /// `in_workers`: slices may run in several threads.
  void begin(bool in_workers);

  /// The task whose unit is begun: all of it is dealt out before any other, for where a piece's
  /// words lie may follow from the one before.
  [[nodiscard]] std::optional<Task> begun() const {
    return partial_pieces_ == 0 ? std::nullopt : std::optional(partial_);
  }
  /// Whether the next slice of begun() can run.
  [[nodiscard]] bool may_continue() const;
  /// The next pieces of the task's unit: one, or where workers could not know where they lie, all.
  [[nodiscard]] Slice next_encode(const Task& task, Form form);
  /// Of a merge, a join or a decode.
  [[nodiscard]] Slice slice_of(const Task& task) const;
  /// Bytes that a slice reads or writes, whichever are more; 0: there is nothing to do.
  [[nodiscard]] std::size_t bytes_of(const Slice& slice) const;
  /// In any thread.
  void run(Slice& slice);
  /// A slice of an encode has run. Words of the unit, once all of its slices have.
  std::optional<std::size_t> take_encoded(const Slice& slice);
  /// Lets the codec change a sum that is complete; returns the words left.
  std::size_t finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
    return merges_.finish_sum(slot, unit, words);
  }

 private:
  [[nodiscard]] const Schedule& schedule() const { return layout_.schedule(); }
  [[nodiscard]] const Step& step_of(const Task& task) const { return schedule().steps[task.step]; }
  /// How many ranks' contributions words of a form have room for.
  [[nodiscard]] std::size_t contributions_of(Form form) const {
    return form == Form::narrow ? alone : std::size_t(schedule().ranks);
  }
  [[nodiscard]] bool is_encoded_already(const Task& task) const;
  [[nodiscard]] bool is_decoded_already(const Task& task) const;
  [[nodiscard]] bool is_whole() const { return round_.traits().scope == RoundScope::vector; }
  void encode(Slice& slice);
  void decode(const Task& task);

  Round& round_;
  const RoundLayout& layout_;
  PayloadLocations& locations_;
  AgreedPieces& agreed_;
  MergeWork merges_;

  // Of the call in flight.
  bool in_workers_ = false;
  /// The unit whose pieces are being dealt out.
  Task partial_{};
  std::size_t partial_pieces_ = 0, partial_words_ = 0;
  std::vector<std::uint32_t> pieces_left_;    ///< by task: not encoded yet
  std::vector<std::uint32_t> encoded_words_;  ///< by task
};

}  // namespace cohom
