#pragma once
// PlanPart: what a reduce_scatter and a reduce are to codec and executor: a sum of one vector, of
// which this rank gets a part. And an allgather: a vector of which it has a part.
//
// A codec works on whole blocks, so a part begins with one: where the parts of a reduce_scatter are
// no multiples of a block, the codec sees each with zeros behind it. Where codec or algorithm
// cannot leave out the rest of a sum, all of it comes to memory of the plan, and the part is
// copied.

#include "memory/memory.hpp"
#include "plan/plan_shape.hpp"

#include <cstddef>

namespace cohom {

class PlanPart {
 public:
  /// @throws Error(invalid_argument) for a root that is none of the ranks; what
  /// PlanShape::elements() throws
  PlanPart(const PlanShape& shape, int rank, int ranks);

  /// Elements of the vector that the codec sees.
  [[nodiscard]] std::size_t elements() const {
    return shape_.has_parts() ? part_ * ranks_ : shape_.count;
  }
  /// Makes parts begin with blocks of so many elements. Whether that changed elements().
  bool align(std::size_t block);
  /// `memory`: where the executor works; it outlives this. `decodes_all`: the executor decodes the
  /// whole sum, on every rank.
  void work_in(Memory& memory, bool decodes_all);
  /// What calls need, and the one that prepare() was last told of. Does nothing where an earlier
  /// call took it. @throws std::bad_alloc or Error(memory)
  void take_memory();
  /// Of all calls, taken or not.
  [[nodiscard]] std::size_t memory_bytes() const;

  /// What of the sum the executor decodes: [first_wanted(), end_wanted()).
  [[nodiscard]] std::size_t first_wanted() const;
  [[nodiscard]] std::size_t end_wanted() const;

  /// A call's buffers, which lie in work_in()'s memory and outlive it; no element is read.
  void prepare(const void* input, void* output);
  /// Reads the input, where it is copied. Once a call, before it is encoded.
  void take_input();
  /// What codec and executor take for the call's buffers, behind take_memory(): addresses of the
  /// vector's first element, of which a rank may have others alone.
  [[nodiscard]] const void* input() const;
  [[nodiscard]] void* output() const;
  /// Writes what is left of the user's output. No message needs the user's input any more. Once a
  /// call.
  void write_output();

 private:
  [[nodiscard]] bool scatters() const { return shape_.collective == ReductionKind::reduce_scatter; }
  [[nodiscard]] bool gets_some() const { return shape_.gives_to(static_cast<int>(rank_)); }
  /// Whether sums of calls come to memory of the plan, whatever their buffers.
  [[nodiscard]] bool stages_all() const {
    return is_padded() || (decodes_all_ && (scatters() || !gets_some()));
  }
  [[nodiscard]] bool is_padded() const { return scatters() && part_ != shape_.count; }
  [[nodiscard]] std::size_t bytes_of(std::size_t elements) const {
    return elements * size_of(shape_.type);
  }
  /// In the output of the executor.
  [[nodiscard]] std::size_t own_first() const { return scatters() ? rank_ * part_ : 0; }
  [[nodiscard]] std::size_t staged_bytes() const {
    return bytes_of(decodes_all_ ? elements() : part_);
  }

  PlanShape shape_;
  std::size_t rank_, ranks_;
  std::size_t part_;  ///< elements from one part to the next, as the codec sees them
  bool decodes_all_ = false;
  Memory* memory_ = nullptr;
  MemoryArray<std::byte> input_;   ///< of padded parts
  MemoryArray<std::byte> output_;  ///< of what the executor decodes

  // Of the call in flight.
  const void* user_input_ = nullptr;
  void* user_output_ = nullptr;
  bool staged_ = false;  ///< sums come to output_
};

}  // namespace cohom
