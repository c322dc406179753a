#pragma once
// Quantising one rotated coefficient (docs/wire-format.md, "Quantisation").

#include "kernels/core/hd.hpp"
#include "kernels/thc/thc.hpp"

#include <cstdint>

namespace cohom::kernels::body {

/// Position in the quantiser's range in 1/256 of an interval: nearest even integer of
/// coefficient + 128 * intervals, clamped to 0 .. 256 * intervals (below 2^24, exact in f32).
template <class Real>
COHOM_HD inline std::uint32_t grid_position(Real coefficient, std::uint32_t intervals) {
  const Real shifted = coefficient + static_cast<Real>(128 * intervals);
  const Real top = static_cast<Real>(256 * intervals);
  if (!(shifted > Real{0})) return 0;
  if (shifted >= top) return 256 * intervals;
  const auto whole = static_cast<std::uint32_t>(shifted);
  const Real rest = shifted - static_cast<Real>(whole);
  const bool up = rest > Real{0.5} || (rest == Real{0.5} && whole % 2 == 1);
  return whole + (up ? 1 : 0);
}

/// levels=full: the level itself. Unbiased over a uniform dither in 0..255.
COHOM_HD constexpr std::uint32_t level_of(std::uint32_t position, std::uint32_t dither) {
  return (position + dither) / 256;
}

/// Table form: index of one of the two levels around the position.
COHOM_HD inline std::uint32_t index_of(const ThcCell& cell, std::uint32_t position,
                                       std::uint32_t dither) {
  const std::uint32_t gap = cell.gap;
  const std::uint32_t above = position - 256u * cell.level;
  return cell.index + (above + gap * dither + gap / 2 >= 256 * gap ? 1u : 0u);
}

}  // namespace cohom::kernels::body
