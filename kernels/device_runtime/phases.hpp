#pragma once
// The shape of a kernel: what one thread does, in phases. One source for the device, where threads
// run side by side, and for the host, where loops run them (launch.hpp).
//
// Work is cut into tiles. A block of threads takes tile after tile; in each, all its threads run
// phase 0, then all run phase 1, and so on. Between phases lies a barrier: what a thread wrote in
// one, to `Shared` or to memory, the others of its block read in the next. Within a phase no thread
// may read what another one writes; but several may add to a place, or set bits of it, at once
// (intrinsics.hpp). A kernel is plain data, its arguments, with
//
//   static constexpr unsigned threads;      // of a block, a multiple of 32
//   static constexpr Barrier barrier;       // whom the threads of one phase wait for
//   struct Shared; struct Local;            // what a block keeps through a tile, and what one
//   thread keeps std::size_t tiles; static constexpr int phases;            // with   template <int
//   phase> void run(At, Shared&, Local&) const int phase_count() const;                // or
//   instead: void run(int phase, At, Shared&, Local&) const static constexpr int repeated_from; //
//   optional: phases from this one on are run once more as long as bool again(const Shared&) const;
//   // this says so, to all threads behind a barrier of its own

#include "kernels/core/hd.hpp"

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cohom::kernels::device {

/// warp: threads read what the 32 of their own warp wrote, and nothing else.
enum class Barrier : unsigned char { warp, block };

/// Which thread runs, on which tile.
struct At {
  std::size_t tile;
  unsigned thread;
};

/// Of kernels that have nothing to keep.
struct Nothing {};

template <class K>
concept FixedPhases = requires {
  { K::phases } -> std::convertible_to<int>;
};

template <class K>
concept RepeatedPhases = FixedPhases<K> && requires(const K& kernel, typename K::Shared& shared) {
  { K::repeated_from } -> std::convertible_to<int>;
  { kernel.again(shared) } -> std::convertible_to<bool>;
};

template <class K>
concept Kernel = std::is_trivially_copyable_v<K> && requires(const K& kernel) {
  { K::threads } -> std::convertible_to<unsigned>;
  typename K::Shared;
  typename K::Local;
  kernel.tiles;
};

/// Tiles of `size` that hold `count`.
COHOM_HD constexpr std::size_t tiles_of(std::size_t count, std::size_t size) {
  return count / size + (count % size != 0 ? 1 : 0);
}

}  // namespace cohom::kernels::device
