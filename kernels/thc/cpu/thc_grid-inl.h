// Quantising a frame by way of its positions on the quantiser's grid, in 32-bit lanes: any format,
// and f64. Slower than thc_quantize-inl.h, the same bits where both apply.

#if defined(COHOM_THC_GRID_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_GRID_INL_H
#undef COHOM_THC_GRID_INL_H
#else
#define COHOM_THC_GRID_INL_H
#endif

#include "kernels/core/cpu/block_vectors-inl.h"
#include "kernels/thc/body/quantize.hpp"
#include "kernels/thc/cpu/thc_rotate-inl.h"
#include "kernels/thc/cpu/thc_small_table.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Nearest grid position of each coefficient, clamped to 0 .. 256 * intervals
/// (body::grid_position).
HWY_INLINE I32 grid_positions(Full<float> coefficient, std::uint32_t intervals) {
  const hn::ScalableTag<float> d;
  const auto shifted = hn::Add(coefficient, hn::Set(d, static_cast<float>(128 * intervals)));
  const auto below = at_most(hn::Set(d, static_cast<float>(256 * intervals)), shifted);
  return hn::Max(nearest(below), hn::Zero(hn::ScalableTag<std::int32_t>()));
}
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, hn::ScalableTag<double>>> grid_positions(
    Full<double> coefficient, std::uint32_t intervals) {
  const hn::ScalableTag<double> d;
  const auto shifted = hn::Add(coefficient, hn::Set(d, static_cast<double>(128 * intervals)));
  const auto below = at_most(hn::Set(d, static_cast<double>(256 * intervals)), shifted);
  const auto inside = hn::Max(below, hn::Zero(d));  // in this order NaN becomes 0
  return hn::DemoteTo(hn::Rebind<std::int32_t, hn::ScalableTag<double>>(), hn::Round(inside));
}

/// grid[16 r + column + i] := grid position of lane i of v[r].
template <class D>
HWY_INLINE void store_grid(D, const hn::Vec<D> (&v)[16], std::uint32_t intervals,
                           std::size_t column, std::int32_t* grid) {
  const hn::Rebind<std::int32_t, D> d32;
#pragma GCC unroll 16
  for (std::size_t r = 0; r < 16; ++r)
    hn::StoreU(grid_positions(v[r], intervals), d32, grid + 16 * r + column);
}

struct Quantized {
  I32 value;  ///< index, or level for levels=full
  I32 level;
};

HWY_INLINE Quantized quantize_level(I32 x, I32 dither) {
  const I32 level = hn::ShiftRight<8>(hn::Add(x, dither));
  return {level, level};
}

HWY_INLINE Quantized quantize_in_table(const ThcCell* cells, I32 x, I32 dither) {
  const hn::ScalableTag<std::int32_t> d;
#if HWY_MAX_BYTES == 16  // no gather instruction
  HWY_ALIGN std::int32_t position[4], draw[4], value[4], level[4];
  hn::Store(x, d, position);
  hn::Store(dither, d, draw);
  for (int i = 0; i < 4; ++i) {
    const ThcCell& cell = cells[position[i] / 256];
    value[i] = static_cast<std::int32_t>(body::index_of(
        cell, static_cast<std::uint32_t>(position[i]), static_cast<std::uint32_t>(draw[i])));
    level[i] = cell.level + (value[i] - cell.index) * cell.gap;
  }
  return {hn::Load(d, value), hn::Load(d, level)};
#else
  // 32 bits from the start of a cell are its index and level, 32 bits from its level on are its
  // level and gap; neither reaches beyond the cell.
  static_assert(sizeof(ThcCell) == 6 && offsetof(ThcCell, level) == 2 &&
                offsetof(ThcCell, gap) == 4);
  const auto* base = reinterpret_cast<const std::int32_t*>(cells);
  const auto offset = hn::Mul(hn::ShiftRight<8>(x), hn::Set(d, 6));
  const auto low = hn::Set(d, 0xffff);
  const I32 index_level = hn::GatherOffset(d, base, offset);
  const I32 level_gap = hn::GatherOffset(d, base, hn::Add(offset, hn::Set(d, 2)));
  const I32 level = hn::And(level_gap, low);
  const I32 gap = hn::And(hn::ShiftRight<16>(level_gap), low);
  const I32 above = hn::Sub(x, hn::ShiftLeft<8>(level));
  const I32 reached = hn::Add(hn::Add(above, hn::Mul(gap, dither)), hn::ShiftRight<1>(gap));
  const auto stays = hn::Lt(reached, hn::ShiftLeft<8>(gap));
  const I32 index = hn::And(index_level, low);
  return {hn::IfThenElse(stays, index, hn::Add(index, hn::Set(d, 1))),
          hn::IfThenElse(stays, level, hn::Add(level, gap))};
#endif
}

/// values[p] and levels[p] := index and level at position p of a frame; either may be null.
inline void quantize_grid(const ThcFormat& format, const FrameDither& frame,
                          const std::int32_t* grid, std::uint16_t* values, std::uint16_t* levels) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::ScalableTag<std::uint32_t> du;
  const hn::ScalableTag<std::uint8_t> d8;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const auto mask = hn::Set(d8, frame.mask);
  const auto offset = hn::Set(d8, frame.offset);
  for (std::uint32_t m = 0; m < 4; ++m)
    for (std::size_t column = 0; column < 16; column += hn::MaxLanes(d)) {
      const auto drawn = hn::BitCast(
          d8, frame_draws(du, frame.frame, 16 * m + static_cast<std::uint32_t>(column)));
      auto draws = hn::BitCast(du, hn::Add(hn::And(drawn, mask), offset));
      for (std::size_t r = 4 * m; r < 4 * m + 4; ++r) {
        const std::size_t at = 16 * r + column;
        const I32 x = hn::LoadU(d, grid + at);
        const I32 dither = hn::BitCast(d, hn::And(draws, hn::Set(du, 0xffu)));
        draws = hn::ShiftRight<8>(draws);
        const auto quantized = format.table ? quantize_in_table(format.cells.data(), x, dither)
                                            : quantize_level(x, dither);
        if (values != nullptr) hn::StoreU(hn::DemoteTo(d16, quantized.value), d16, values + at);
        if (levels != nullptr) hn::StoreU(hn::DemoteTo(d16, quantized.level), d16, levels + at);
      }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
