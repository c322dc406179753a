#pragma once
// The quantiser's table in bytes, for formats whose arithmetic fits 16-bit lanes; and the dither of
// a frame. Plain data that the vector code loads.
//
// docs/wire-format.md: index = k + 1 if (x - 256 T[k]) + gap * d + gap div 2 >= 256 gap, else k,
// all of k, T[k], gap from cell x div 256. With f = x mod 256 and c = gap - (cell - T[k]) the
// condition is f + gap * d + gap div 2 >= 256 c, so
//   index = (256 * base + f + gap * d + gap div 2) div 4096    with base = 16 k + 16 - c,
// a byte: while the gap is at most 16 the middle term stays below 4096 + 256 c.

#include "kernels/core/body/random.hpp"
#include "kernels/thc/thc.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

struct SmallTable {
  static constexpr std::size_t cells = 32;

  bool usable = false;
  alignas(64) std::uint8_t gap[cells] = {};   ///< by cell
  alignas(64) std::uint8_t base[cells] = {};  ///< by cell
  alignas(64) std::uint8_t level[16] = {};    ///< by index; the index itself for levels=full

  explicit SmallTable(const ThcFormat& format) {
    if (format.intervals >= cells || (!format.table && format.intervals > 15)) return;
    for (std::uint32_t cell = 0; cell <= format.intervals; ++cell) {
      // levels=full is the table in which every gap is 1.
      const auto k = static_cast<std::uint16_t>(std::min(cell, format.intervals - 1));
      const ThcCell entry = format.table ? format.cells[cell] : ThcCell{k, k, 1};
      if (entry.gap > 16 || entry.index > 14) return;
      const std::uint32_t above = entry.gap - (cell - entry.level);
      gap[cell] = static_cast<std::uint8_t>(entry.gap);
      base[cell] = static_cast<std::uint8_t>(16 * entry.index + 16 - above);
    }
    const std::size_t levels = format.table ? std::min<std::size_t>(format.levels.size(), 16) : 16;
    for (std::size_t k = 0; k < levels; ++k)
      level[k] = static_cast<std::uint8_t>(format.table ? format.levels[k] : k);
    usable = true;
  }
};

/// How a frame's dithers are drawn: byte by byte ((draw and mask) + offset) mod 256.
struct FrameDither {
  std::uint32_t frame;
  std::uint8_t mask;
  std::uint8_t offset;
};

inline FrameDither dither_of_frame(const ThcFormat& format, const ThcDraws& draws,
                                   std::uint64_t q) {
  FrameDither dither{body::frame(draws.dither_key, q), 0xff, 0};
  if (format.dither == Dither::nearest) {
    dither.mask = 1;  // a coin for ties, and for nothing else
    dither.offset = 127;
  }
  if (format.dither == Dither::correlated) {
    const auto units = static_cast<std::uint32_t>(format.dither_offsets.size());
    const std::uint32_t frame = body::frame(draws.permutation_key, q);
    dither.offset = format.dither_offsets[body::permutation_number(frame, units)];
  }
  return dither;
}

}  // namespace cohom::kernels
