// From a frame's elements to its quantised rows.

#if defined(COHOM_THC_ENCODE_FRAME_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_ENCODE_FRAME_INL_H
#undef COHOM_THC_ENCODE_FRAME_INL_H
#else
#define COHOM_THC_ENCODE_FRAME_INL_H
#endif

#include "kernels/core/cpu/block_vectors-inl.h"
#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/thc/cpu/thc_grid-inl.h"
#include "kernels/thc/cpu/thc_quantize-inl.h"
#include "kernels/thc/cpu/thc_rotate-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The rows of a frame from `column` on, scaled, with their signs.
template <class T, class D>
HWY_INLINE void load_scaled_rows(D d, const void* input, std::size_t first, hn::Vec<D> factor,
                                 const std::uint32_t (&sign_draws)[16], std::size_t column,
                                 hn::Vec<D> (&v)[16]) {
  RowSigns<D> signs(d, sign_draws, column);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t r = 15 - i;
    const std::size_t at = first + 16 * r + column;
    v[r] = signs.next(hn::Mul(Elements<T>::load(d, input, at), factor));
  }
}

/// Rows of a frame that are ready to be rotated.
template <class D>
HWY_INLINE void load_rows(D d, const hn::TFromD<D>* frame, std::size_t column,
                          hn::Vec<D> (&v)[16]) {
#pragma GCC unroll 16
  for (std::size_t r = 0; r < 16; ++r) v[r] = hn::Load(d, frame + 16 * r + column);
}

/// Rotates a frame (load as in rotate_frame) and quantises it in 16-bit lanes; store(column, s) is
/// given what quantize_rows() makes. prefetch(r) is called for every row meanwhile. `grid` is room
/// for a frame, used by f64 only: its coefficients are too wide to be quantised where they are.
template <class D, class Quantizer, class Load, class Store, class Prefetch>
HWY_INLINE void rotate_and_quantize(D d, const Quantizer& quantizer, const DitherBytes& dithers,
                                    std::uint32_t intervals, std::int32_t* grid, Load load,
                                    Store store, Prefetch prefetch) {
  using Rows = hn::Vec<D>[16];
  U16 s[8];
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const auto centre = hn::Set(d, static_cast<float>(128 * intervals));
    const auto top = hn::Set(d, static_cast<float>(256 * intervals));
    rotate_frame(
        d, load, [&](std::size_t column, Rows & v) __attribute__((always_inline)) {
          const auto grid_row = [&](std::size_t r) __attribute__((always_inline)) {
            if (column == 0) prefetch(r);
            return nearest(at_most(top, hn::Add(v[r], centre)));  // NaN: narrow() makes it 0
          };
          quantize_rows(quantizer, dithers, column, grid_row, s);
          store(column, s);
        });
  } else {
    const hn::ScalableTag<std::int32_t> d32;
    rotate_frame(
        d, load, [&](std::size_t column, Rows & v) __attribute__((always_inline)) {
          store_grid(d, v, intervals, column, grid);
        });
    for (std::size_t column = 0; column < 16; column += hn::MaxLanes(d32)) {
      const auto grid_row = [&](std::size_t r) __attribute__((always_inline)) {
        if (column == 0) prefetch(r);
        return hn::LoadU(d32, grid + 16 * r + column);
      };
      quantize_rows(quantizer, dithers, column, grid_row, s);
      store(column, s);
    }
  }
}

/// values and levels (either may be null) := indices and levels of a frame.
template <class D, class Quantizer>
void quantize_frame(D d, const Quantizer& quantizer, const FrameDither& dither,
                    std::uint32_t intervals, std::int32_t* grid, const hn::TFromD<D>* frame,
                    std::uint16_t* values, std::uint16_t* levels) {
  alignas(64) DitherBytes dithers;
  draw_dithers(dither, dithers);
  rotate_and_quantize(
      d, quantizer, dithers, intervals, grid,
      [&](std::size_t column, hn::Vec<D>(&v)[16])
          __attribute__((always_inline)) { load_rows(d, frame, column, v); },
      [&](std::size_t column, const U16(&s)[8]) __attribute__((always_inline)) {
        if (values != nullptr)
          store_rows(s, column, values, [&](U16 q) HWY_ATTR { return quantizer.values(q); });
        if (levels != nullptr)
          store_rows(s, column, levels, [&](U16 q) HWY_ATTR { return quantizer.levels(q); });
      },
      [](std::size_t) {});
}

/// The same for any format.
template <class D>
void quantize_frame_by_grid(D d, const ThcFormat& format, const FrameDither& dither,
                            std::int32_t* grid, const hn::TFromD<D>* frame, std::uint16_t* values,
                            std::uint16_t* levels) {
  using Rows = hn::Vec<D>[16];
  rotate_frame(
      d,
      [&](std::size_t column, Rows & v)
          __attribute__((always_inline)) { load_rows(d, frame, column, v); },
      [&](std::size_t column, Rows & v)
          __attribute__((always_inline)) { store_grid(d, v, format.intervals, column, grid); });
  quantize_grid(format, dither, grid, values, levels);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
