#pragma once
// CodecWork: the slices of a round's work: a piece encoded, a merge, a sum decoded. One thread
// deals them out and takes them in; where the codec works in several threads, any may run them.

#include "base/worker_pool.hpp"
#include "codecs/common/round.hpp"
#include "executor/agreed_pieces.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"
#include "executor/slice.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
  std::size_t finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words);

 private:
  /// Of one slice.
  struct Scratch {
    std::vector<const void*> merge_sources;
    std::vector<ConstPayload> sources;
    std::vector<PartialSum> partial_sums;
    MemoryArray<std::uint64_t> apart_sum;  ///< of one unit
  };

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
  [[nodiscard]] std::size_t merge(const Task& task);
  [[nodiscard]] std::size_t join(const Task& task);
  void decode(const Task& task);
  [[nodiscard]] bool promotes(const Task& task) const;
  [[nodiscard]] bool widens(const Task& task) const;
  [[nodiscard]] bool merges_by_piece(const Task& task) const;
  [[nodiscard]] Payload space_behind(const Task& task, std::size_t words) const;
  std::span<const ConstPayload> read_sources(const Task& task, std::size_t first_piece,
                                             std::size_t pieces);
  std::size_t merge_piece(const Task& task, std::size_t index, std::size_t begin);
  std::size_t finish(std::uint32_t slot, const Piece& piece, Payload sum, std::size_t words);
  std::size_t merge_words(std::span<const ConstPayload> sources, Payload result);
  std::size_t widen(const Task& task, const Piece& piece, std::span<const ConstPayload> words,
                    Payload result);
  void copy_extents(const Task& task);
  std::size_t merge_apart(const Piece& piece, std::span<const ConstPayload> sources,
                          Payload result);

  Round& round_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  const RoundLayout& layout_;
  PayloadLocations& locations_;
  AgreedPieces& agreed_;
  PerWorker<Scratch> scratch_;

  // Of the call in flight.
  bool in_workers_ = false;
  /// The unit whose pieces are being dealt out.
  Task partial_{};
  std::size_t partial_pieces_ = 0, partial_words_ = 0;
  std::vector<std::uint32_t> pieces_left_;    ///< by task: not encoded yet
  std::vector<std::uint32_t> encoded_words_;  ///< by task
};

}  // namespace cohom
