#include "race_marks.hpp"

#include <cstring>

namespace cohom::ptx {
namespace {

constexpr unsigned warp_of(const Touch& touch) { return touch.thread / 32u; }

/// Whether a barrier orders them, for whichever threads made them.
bool lies_behind_barrier(const Touch& before, const Touch& now) {
  if (before.launch != now.launch) return true;
  if (before.several_blocks || before.block != now.block) return false;
  if (before.block_phase < now.block_phase) return true;
  if (before.several_warps || warp_of(before) != warp_of(now)) return false;
  return before.warp_phase < now.warp_phase;
}

/// `now` together with those of `before` that no barrier has ended.
Touch joined(const Touch& before, Touch now) {
  if (before.launch != now.launch) return now;
  now.several_blocks = before.several_blocks || before.block != now.block;
  if (before.block != now.block || before.block_phase < now.block_phase) return now;
  now.several_warps = before.several_warps || warp_of(before) != warp_of(now);
  if (now.several_warps || before.warp_phase < now.warp_phase) return now;
  now.several_threads = before.several_threads || before.thread != now.thread;
  return now;
}

std::optional<Conflict> note_read(ByteMarks& marks, const Touch& now) {
  if (!is_ordered(marks.written, now))
    return Conflict{marks.written.atomic ? "read beside an atomic" : "read beside a write",
                    marks.written};
  marks.read = joined(marks.read, now);
  return std::nullopt;
}

std::optional<Conflict> note_write(ByteMarks& marks, const Touch& now) {
  const bool both_atomic = now.atomic && marks.written.atomic;
  if (!both_atomic && !is_ordered(marks.written, now))
    return Conflict{now.atomic ? "atomic beside a write" : "write beside a write", marks.written};
  if (!is_ordered(marks.read, now))
    return Conflict{now.atomic ? "atomic beside a read" : "write beside a read", marks.read};
  const bool after_own_write =
      now.atomic && !marks.written.atomic && !lies_behind_barrier(marks.written, now);
  marks.written = both_atomic ? joined(marks.written, now) : now;
  if (after_own_write) marks.written.atomic = false;  // which others' atomics must not meet
  return std::nullopt;
}

}  // namespace

bool is_ordered(const Touch& before, const Touch& now) {
  if (lies_behind_barrier(before, now)) return true;
  return before.block == now.block && before.thread == now.thread && !before.several_blocks &&
         !before.several_warps && !before.several_threads;
}

std::optional<Conflict> note_access(ByteMarks* marks, unsigned bytes, const Touch& now,
                                    Access access) {
  const auto note = [&](ByteMarks& byte) {
    return access == Access::read ? note_read(byte, now) : note_write(byte, now);
  };
  const ByteMarks before = marks[0];
  if (const auto conflict = note(marks[0])) return conflict;
  for (unsigned i = 1; i < bytes; ++i) {
    // Bytes of one value mostly have one past. Unused bits may tell equal ones apart: it is slower.
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    if (std::memcmp(&marks[i], &before, sizeof before) == 0)
      marks[i] = marks[0];
    else if (const auto conflict = note(marks[i]))
      return conflict;
  }
  return std::nullopt;
}

}  // namespace cohom::ptx
