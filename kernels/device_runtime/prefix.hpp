#pragma once
// Exclusive prefix sums: over the 256 threads of a block in shared memory, and over an array of
// counts, one of each tile of a kernel.

#include "kernels/core/hd.hpp"
#include "kernels/device_runtime/device_context.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

/// Put, then group, then root, then get; a barrier after each.
template <class Count>
struct BlockPrefix {
  static constexpr unsigned threads = 256, side = 16;

  Count counts[threads];
  Count groups[side];
  Count all;

  COHOM_HD void put(unsigned thread, Count count) { counts[thread] = count; }
  COHOM_HD void group(unsigned thread) {
    if (thread >= side) return;
    Count sum = 0;
    for (unsigned i = 0; i < side; ++i) sum += counts[thread * side + i];
    groups[thread] = sum;
  }
  COHOM_HD void root(unsigned thread) {
    if (thread != 0) return;
    Count sum = 0;
    for (Count& group : groups) {
      const Count own = group;
      group = sum;
      sum += own;
    }
    all = sum;
  }
  /// Of all threads before.
  [[nodiscard]] COHOM_HD Count get(unsigned thread) const {
    Count sum = groups[thread / side];
    for (unsigned i = thread / side * side; i < thread; ++i) sum += counts[i];
    return sum;
  }
};

/// Replaces counts[0 .. count - 1] by the sums of those before, and writes the sum of all to
/// counts[count]. Addresses as kernels see them.
void sum_up(std::uint64_t* counts, std::size_t count);

}  // namespace cohom::kernels::device
