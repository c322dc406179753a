#pragma once
// CodecWork: one slice of a round's work at a time: a piece encoded, a merge, a sum decoded.

#include "codecs/common/round.hpp"
#include "executor/agreed_pieces.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"

#include <cohom/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohom {

class CodecWork {
 public:
  /// What is referred to outlives it. `kernels` are those of `memory`.
  CodecWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
            const RoundLayout& layout, PayloadLocations& locations, AgreedPieces& agreed);
  CodecWork(const CodecWork&) = delete;
  CodecWork& operator=(const CodecWork&) = delete;

  void begin(Profile* profile);

  /// The task whose unit is begun: it is finished before any other, for its words are half written.
  [[nodiscard]] std::optional<Task> begun() const {
    return partial_pieces_ == 0 ? std::nullopt : std::optional(partial_);
  }
  /// Encodes the next piece of the task's unit. Words of the unit once it is complete.
  std::optional<std::size_t> encode(const Task& task, Form form);
  // Words of the result.
  std::size_t merge(const Task& task);
  std::size_t join(const Task& task);
  /// Lets the codec change a sum that is complete; returns the words left.
  std::size_t finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words);
  void decode(const Task& task);

 private:
  [[nodiscard]] const Schedule& schedule() const { return layout_.schedule(); }
  [[nodiscard]] const Step& step_of(const Task& task) const { return schedule().steps[task.step]; }
  /// How many ranks' contributions words of a form have room for.
  [[nodiscard]] std::size_t contributions_of(Form form) const {
    return form == Form::narrow ? alone : std::size_t(schedule().ranks);
  }
  [[nodiscard]] bool promotes(const Task& task) const;
  [[nodiscard]] bool widens(const Task& task) const;
  [[nodiscard]] bool merges_by_piece(const Task& task) const;
  [[nodiscard]] Payload space_behind(const Task& task, std::size_t words) const;
  void read_sources(const Task& task, std::size_t first_piece, std::size_t pieces);
  std::size_t merge_piece(const Task& task, std::size_t index, std::size_t begin);
  std::size_t finish(std::uint32_t slot, const Piece& piece, Payload sum, std::size_t words);
  std::size_t merge_words(Payload result);
  std::size_t widen(const Task& task, const Piece& piece, Payload result);
  void copy_extents(const Task& task);
  std::size_t merge_apart(const Piece& piece, Payload result);

  Round& round_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  const RoundLayout& layout_;
  PayloadLocations& locations_;
  AgreedPieces& agreed_;
  Profile* profile_ = nullptr;  ///< of the call in flight
  /// The unit whose pieces are being encoded, one a slice.
  Task partial_{};
  std::size_t partial_pieces_ = 0, partial_words_ = 0;
  std::vector<const void*> merge_sources_;
  std::vector<ConstPayload> sources_;
  std::vector<PartialSum> partial_sums_;
  MemoryArray<std::uint64_t> apart_sum_;  ///< of one unit
};

}  // namespace cohom
