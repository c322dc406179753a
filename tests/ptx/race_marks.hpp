#pragma once
// Races: what is remembered of every byte of shared and of device memory, to tell whether a barrier
// lies between two accesses of which one writes.
//
// The interpreter runs threads one after the other, so an access is held to those before it. Two
// accesses of a launch are ordered when one thread makes both, when the block met at a barrier
// between them, or when both threads are of one warp that met. Nothing orders the blocks of a
// launch. Atomics may meet each other, but no plain access.

#include <cstdint>
#include <optional>

namespace cohom::ptx {

enum class Access : std::uint8_t { read, write, atomic };

/// An access, or several that need not be told apart.
struct Touch {
  std::uint32_t launch = 0;  ///< numbered from 1; 0 is none
  std::uint32_t block = 0;
  std::uint32_t block_phase = 0;  ///< barriers of the block before it
  std::uint32_t warp_phase = 0;   ///< the same of its warp
  std::uint32_t line = 0;         ///< in the PTX
  std::uint16_t thread = 0;
  bool atomic = false;
  // Of several, the last one stands above; besides it, since the last barrier that orders them,
  bool several_blocks : 1 = false;   ///< there were other blocks,
  bool several_warps : 1 = false;    ///< other warps of this block,
  bool several_threads : 1 = false;  ///< other threads of this warp
};

struct ByteMarks {
  Touch written;  ///< the last write, with this thread's atomics behind it, or all atomics since
  Touch read;     ///< all reads that no barrier of the reading block's has ended
};

struct Conflict {
  const char* what;
  Touch other;
};

/// Whether all of `before` comes before `now` by a barrier.
bool is_ordered(const Touch& before, const Touch& now);

/// Adds an access of some bytes to their marks. Stops at the first byte where it is not ordered
/// with an earlier one, and returns that.
std::optional<Conflict> note_access(ByteMarks* marks, unsigned bytes, const Touch& now,
                                    Access access);

}  // namespace cohom::ptx
