#pragma once
// Slice: a stretch of a round's codec work that runs at once, in the caller's thread or in a
// worker.

#include "executor/round_layout.hpp"

#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom {

enum class SliceKind : std::uint8_t { encode, merge, join, decode };

struct Slice {
  SliceKind kind = SliceKind::encode;
  Task task = {};

  // Of an encode: some pieces of the task's unit.
  Form form = Form::wide;
  std::size_t first_piece = 0;  ///< in the unit
  std::size_t pieces = 0;

  /// Words in front of what an encode writes; once run, where the words of the slice end.
  std::size_t words = 0;
};

/// A round as those see it who run its slices.
class SliceOwner {
 public:
  /// In any thread; slices of different pieces also at the same time.
  virtual void run(Slice& slice) = 0;
  /// In the caller's thread, once it has run.
  virtual void take(const Slice& slice) = 0;

 protected:
  ~SliceOwner() = default;
};

}  // namespace cohom
