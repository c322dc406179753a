// The dithers of packed, as body::PackedDitherFrame defines them.

#if defined(COHOM_PACKED_DITHER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_DITHER_INL_H
#undef COHOM_PACKED_DITHER_INL_H
#else
#define COHOM_PACKED_DITHER_INL_H
#endif

#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/cpu/packed_reals-inl.h"
#include "kernels/thc/cpu/thc_rotate-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The dithers of a frame: byte j of draws[m][column] is that of row 4 m + j.
class FrameDithers {
 public:
  HWY_INLINE void draw(const PackedQuantizer& quantizer, std::uint64_t number) {
    const hn::ScalableTag<std::uint32_t> d32;
    const hn::ScalableTag<std::uint8_t> d8;
    const body::PackedDitherFrame frame(quantizer, number);
    const auto offset = hn::Set(d8, static_cast<std::uint8_t>(frame.offset));
#pragma GCC unroll 4
    for (std::uint32_t m = 0; m < 4; ++m)
#pragma GCC unroll 4
      for (std::uint32_t column = 0; column < 16; column += lanes32) {
        const auto drawn = hn::BitCast(d8, frame_draws(d32, frame.frame, 16 * m + column));
        hn::Store(hn::BitCast(d32, hn::Add(drawn, offset)), d32, draws_[m] + column);
      }
  }

  /// v + (dither + 1/2) / 256 for columns `column` and up of a row; j = row % 4. The dither stays
  /// where it lies in its word, with a bit for 1/2 below it: as a number it is exact, and so is its
  /// product with a power of two, so that fused or not the sum is rounded once.
  template <std::size_t j, class Real>
  HWY_INLINE Full<Real> added(Full<Real> v, std::size_t row, std::size_t column) const {
    const RealLanes<Real> d;
    const hn::Rebind<std::uint32_t, RealLanes<Real>> du;
    const IntegerLanes<Real> di;
    auto x = hn::Load(du, draws_[row / 4] + column);
    // Not into the sign bit: conversions are of signed integers.
    if constexpr (j == 0) x = hn::ShiftLeft<1>(x);
    if constexpr (j == 3) x = hn::ShiftRight<1>(x);
    constexpr int place = j == 0 ? 1 : j == 3 ? 23 : 8 * static_cast<int>(j);
    const auto number =
        hn::BitCast(di, hn::OrAnd(hn::Set(du, 1u << (place - 1)), x, hn::Set(du, 0xffu << place)));
    const auto scale = hn::Set(d, static_cast<Real>(1.0 / (256.0 * (1u << place))));
    if constexpr (sizeof(Real) == 4)
      return hn::MulAdd(hn::ConvertTo(d, number), scale, v);
    else
      return hn::MulAdd(hn::PromoteTo(d, number), scale, v);
  }

 private:
  alignas(64) std::uint32_t draws_[4][16];
};

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
