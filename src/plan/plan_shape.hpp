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
  /// Elements of what a rank gets: of its part for a reduce_scatter, of the vector for the others.
  std::size_t count = 0;
  ElementType type = ElementType::f32;
  ReductionKind collective = ReductionKind::allreduce;
  int root = 0;  ///< of a reduce

  friend bool operator==(const PlanShape&, const PlanShape&) = default;

  /// Whether the rank has an output.
  [[nodiscard]] bool gives_to(int rank) const {
    return collective != ReductionKind::reduce || rank == root;
  }
  /// Without buffers.
  [[nodiscard]] NativeBuffers native_buffers() const {
    return {.count = count, .type = type, .collective = collective, .root = root};
  }
  /// What errors and logs call it.
  [[nodiscard]] std::string text() const;
  /// Elements that every rank brings. @throws Error(invalid_argument) for more than there are
  /// addresses
  [[nodiscard]] std::size_t elements(int ranks) const;
  /// @throws the same
  [[nodiscard]] BufferBytes bytes_of_rank(int rank, int ranks) const;
};

}  // namespace cohom
