#pragma once
// PlanShape: what the calls of a plan do, but for their options.

#include <cohom/element_type.hpp>
#include <cohom/native_sums.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <string>

namespace cohom {

/// Of the buffers that a rank gives to a call.
struct BufferBytes {
  std::size_t input = 0;
  std::size_t output = 0;
};

struct PlanShape {
  /// Elements of a rank's part for a reduce_scatter and an allgather, of the vector for the others.
  std::size_t count = 0;
  ElementType type = ElementType::f32;
  ReductionKind collective = ReductionKind::allreduce;
  int root = 0;  ///< of a reduce

  friend bool operator==(const PlanShape&, const PlanShape&) = default;

  /// Whether the rank has an output.
  [[nodiscard]] bool gives_to(int rank) const {
    return collective != ReductionKind::reduce || rank == root;
  }
  /// Whether the vector has a part for each rank.
  [[nodiscard]] bool has_parts() const {
    return collective == ReductionKind::reduce_scatter || gathers();
  }
  [[nodiscard]] bool gathers() const { return collective == ReductionKind::allgather; }
  /// Without buffers.
  [[nodiscard]] NativeBuffers native_buffers() const {
    return {.count = count, .type = type, .collective = collective, .root = root};
  }
  /// What errors and logs call it.
  [[nodiscard]] std::string text() const;
  /// The count, its type and the ranks.
  [[nodiscard]] std::string vector_text(int ranks) const;
  /// Elements of the vector, with all its parts. @throws Error(invalid_argument) for more than
  /// there are addresses
  [[nodiscard]] std::size_t elements(int ranks) const;
  /// @throws the same
  [[nodiscard]] BufferBytes bytes_of_rank(int rank, int ranks) const;
};

}  // namespace cohom
