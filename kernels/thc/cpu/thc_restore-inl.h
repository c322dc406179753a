// Restoring a block of one or more frames from one value a position: the general half of decoding,
// and what error feedback does with this rank's own contribution.

#if defined(COHOM_THC_RESTORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_RESTORE_INL_H
#undef COHOM_THC_RESTORE_INL_H
#else
#define COHOM_THC_RESTORE_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/thc/body/rotate.hpp"
#include "kernels/thc/cpu/thc_rotate-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// 2 S - bias of 16-bit values S, as numbers. Exact in 32 bits while bias is below 2^30.
template <class D>
HWY_INLINE hn::Vec<D> centred(D d, const std::uint16_t* values, std::int32_t bias) {
  const hn::Rebind<std::int32_t, D> d32;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto value = hn::PromoteTo(d32, hn::LoadU(d16, values));
  const auto z = hn::Sub(hn::Add(value, value), hn::Set(d32, bias));
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return hn::ConvertTo(d, z);
  else
    return hn::PromoteTo(d, z);
}

/// Calls emit(f, column, v) with the rows of every frame f of the block, rotated back, before signs
/// and scale. `rotated_block` holds a block; a block of one frame does not use it.
template <class Real, class Emit>
HWY_INLINE void rotate_block_back(const ThcFormat& format, std::size_t contributions,
                                  const std::uint16_t* values, Real* rotated_block, Emit emit) {
  const hn::ScalableTag<Real> d;
  using Rows = hn::Vec<decltype(d)>[16];
  const std::size_t frames = format.rotation / 256;
  const auto bias = static_cast<std::int32_t>(contributions * format.intervals);
  for (std::size_t f = 0; f < frames; ++f)
    rotate_frame(
        d,
        [&](std::size_t column, Rows & v) __attribute__((always_inline)) {
#pragma GCC unroll 16
          for (std::size_t r = 0; r < 16; ++r)
            v[r] = centred(d, values + 256 * f + 16 * r + column, bias);
        },
        [&](std::size_t column, Rows & v) __attribute__((always_inline)) {
          if (frames == 1) return emit(f, column, v);
#pragma GCC unroll 16
          for (std::size_t r = 0; r < 16; ++r)
            hn::Store(v[r], d, rotated_block + 256 * f + 16 * r + column);
        });
  if (frames == 1) return;
  rotate_frames(d, rotated_block, frames);
  for (std::size_t f = 0; f < frames; ++f)
    for (std::size_t column = 0; column < 16; column += hn::MaxLanes(d)) {
      Rows v;
#pragma GCC unroll 16
      for (std::size_t r = 0; r < 16; ++r)
        v[r] = hn::Load(d, rotated_block + 256 * f + 16 * r + column);
      emit(f, column, v);
    }
}

/// Calls put(index, v) with the finished elements of a block, a vector at a time.
template <class Real, class Put>
HWY_INLINE void restore_block(const ThcFormat& format, const ThcDraws& draws,
                              std::uint64_t first_frame, std::size_t contributions,
                              const std::uint16_t* values, Real factor, Real* rotated_block,
                              Put put) {
  const hn::ScalableTag<Real> d;
  using Rows = hn::Vec<decltype(d)>[16];
  const auto scale = hn::Set(d, factor);
  rotate_block_back(
      format, contributions, values, rotated_block,
      [&](std::size_t f, std::size_t column, Rows & v) __attribute__((always_inline)) {
        std::uint32_t sign_draws[16];
        draw_signs(body::frame(draws.sign_key, first_frame + f), sign_draws);
        RowSigns<decltype(d)> signs(d, sign_draws, column);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i) {
          const std::size_t r = 15 - i;
          put(256 * f + 16 * r + column, hn::Mul(signs.next(v[r]), scale));
        }
      });
}

/// feedback := feedback - what the levels of one contribution stand for.
template <class Real>
void subtract_own(const ThcFormat& format, const ThcDraws& draws, std::uint64_t first_frame,
                  const std::uint16_t* levels, body::Norm<Real> norm, Real* rotated_block,
                  void* feedback) {
  const hn::ScalableTag<Real> d;
  using Feedback = Elements<Real>;
  const auto scale = body::decode_scale_of(format.decode_scale, format.rotation, norm);
  restore_block(
      format, draws, first_frame, 1, levels, scale.factor,
      rotated_block, [&](std::size_t i, hn::Vec<decltype(d)> own) __attribute__((always_inline)) {
        const auto v = Feedback::load(d, feedback, i);
        Feedback::store(d, hn::Sub(v, own), feedback, i);
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
