#pragma once
// Rotations of blocks that are no frames: values lie in memory, and every stride is a phase of its
// own.

#include "kernels/core/hd.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

/// Blocks of 2^log2_size values in a tile of `span` values.
struct BlockTurns {
  std::size_t span;
  unsigned log2_size;

  BlockTurns() = default;
  BlockTurns(std::size_t tile_span, std::size_t block)
      : span(tile_span), log2_size(static_cast<unsigned>(std::bit_width(block)) - 1) {}

  /// log2 of the stride of step `step` of encoding: across frames, across rows of 16, inside rows.
  [[nodiscard]] COHOM_HD unsigned forward(unsigned step) const {
    const unsigned across_frames = log2_size > 8 ? log2_size - 8 : 0;
    const unsigned across_rows = log2_size > 8 ? 4 : log2_size - 4;
    if (step < across_frames) return 8 + step;
    if (step < across_frames + across_rows) return 4 + (step - across_frames);
    return step - across_frames - across_rows;
  }

  /// All butterflies of one stride, a part by every thread.
  template <class Real>
  COHOM_HD void turn(unsigned log2_stride, unsigned thread, unsigned threads, Real* values) const {
    const std::size_t stride = std::size_t{1} << log2_stride;
    for (std::size_t i = thread; i < span / 2; i += threads) {
      const std::size_t at = (i >> log2_stride << (log2_stride + 1)) + (i & (stride - 1));
      const Real a = values[at];
      const Real b = values[at + stride];
      values[at] = a + b;
      values[at + stride] = a - b;
    }
  }
};

}  // namespace cohom::kernels::device
