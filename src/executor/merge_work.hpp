#pragma once
// MergeWork: a step's contributions or partial sums become one, in one slice of a round's work.

#include "base/worker_pool.hpp"
#include "codecs/common/round.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"
#include "executor/slice.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

class MergeWork {
 public:
  /// What is referred to outlives it. `kernels` are those of `memory`. `workers`: of a pool, in
  /// which slices may run.
  MergeWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
            const RoundLayout& layout, PayloadLocations& locations, std::size_t workers);
  MergeWork(const MergeWork&) = delete;
  MergeWork& operator=(const MergeWork&) = delete;

  /// Adds the unit's sources. Returns the sum's words. In any thread.
  [[nodiscard]] std::size_t merge(const Task& task);
  /// Puts the unit's sources behind each other. Returns their words. In any thread.
  [[nodiscard]] std::size_t join(const Task& task);
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
  PerWorker<Scratch> scratch_;
};

}  // namespace cohom
