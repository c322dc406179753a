#pragma once
// NativeSums: allreduce, reduce_scatter and reduce of the library below, which sum whole vectors as
// they are, and its allgather.

#include <cohom/cxx20.hpp>

#include <cohom/element_type.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace cohom {

/// What a sum adds and where it goes, in the host's memory.
struct NativeBuffers {
  const void* input = nullptr;  ///< of a reduce_scatter a part for each rank, one after another
  /// `input`, or memory that does not overlap it. Of an allgather for a part of each rank, and
  /// `input` is this rank's, or no rank's is. Of a reduce only the root's is used.
  void* output = nullptr;
  std::size_t count = 0;  ///< elements of the output, or of a part
  ElementType type = ElementType::f32;
  ReductionKind collective = ReductionKind::allreduce;
  int root = 0;  ///< of a reduce
};

/// One sum under way.
class NativeSum {
 public:
  /// Waits for other ranks, unless it is over: nothing ends it early.
  virtual ~NativeSum() = default;
  /// Makes progress; whether the sum is in its place. @throws Error(transport)
  [[nodiscard]] virtual bool test() = 0;
  /// The call ends early on this rank. Does not block. @returns whether the memory is free.
  virtual bool give_up() noexcept = 0;
};

/// All ranks make the same sums in the same order. Used by one thread at a time. Where the library
/// below is MPI, the order of additions is its own, so that bits may depend on the ranks' places.
class NativeSums {
 public:
  virtual ~NativeSums() = default;
  /// Why it cannot make such sums; empty: it can. Only counts, types and kinds matter.
  [[nodiscard]] virtual std::string why_not(const NativeBuffers& buffers) const = 0;
  /// Blocks until the sum is there: nothing else of this rank may have to move meanwhile.
  /// @throws Error(transport)
  virtual void add(const NativeBuffers& buffers) = 0;
  /// Starts. Does not block. @throws Error(transport)
  [[nodiscard]] virtual std::unique_ptr<NativeSum> start(const NativeBuffers& buffers) = 0;
};

}  // namespace cohom
