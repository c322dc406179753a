#pragma once
// NativeAllreduce: the allreduce of the library below, which sums whole vectors as they are.

#include <cohom/cxx20.hpp>

#include <cohom/element_type.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace cohom {

/// One allreduce under way.
class NativeSum {
 public:
  /// Waits for other ranks, unless it is over: nothing ends it early.
  virtual ~NativeSum() = default;
  /// Makes progress; whether the sum is in its place. @throws Error(transport)
  [[nodiscard]] virtual bool test() = 0;
  /// The call ends early on this rank. Does not block. @returns whether the memory is free.
  virtual bool give_up() noexcept = 0;
};

/// All ranks make the same sums in the same order. Used by one thread at a time. `output` is
/// `input`, or does not overlap it; both are the host's memory and have `count` elements. Where
/// the library below is MPI, the order of additions is its own, so that bits may depend on the
/// ranks' places.
class NativeAllreduce {
 public:
  virtual ~NativeAllreduce() = default;
  /// The function, e.g. "MPI_Allreduce".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool adds(ElementType type) const = 0;
  /// Blocks until the sum is there: nothing else of this rank may have to move meanwhile.
  /// @throws Error(transport)
  virtual void add(const void* input, void* output, std::size_t count, ElementType type) = 0;
  /// Starts. Does not block. @throws Error(transport)
  [[nodiscard]] virtual std::unique_ptr<NativeSum> start(const void* input, void* output,
                                                         std::size_t count, ElementType type) = 0;
};

}  // namespace cohom
