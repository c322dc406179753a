// block_vectors-inl.h for NEON, whose vectors are one block.

#if defined(COHOM_NEON_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_NEON_VECTORS_INL_H
#undef COHOM_NEON_VECTORS_INL_H
#else
#define COHOM_NEON_VECTORS_INL_H
#endif

#include "kernels/core/cpu/full_vectors-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Nearest integers, ties to even; what is out of range becomes the nearest integer there is, and
/// NaN becomes 0.
HWY_INLINE I32 nearest(Full<float> v) { return I32{vcvtnq_s32_f32(v.raw)}; }

/// The smaller ones; NaN where v is. Highway's Min() would take `limit` there.
HWY_INLINE Full<float> at_most(Full<float> limit, Full<float> v) {
  return Full<float>{vminq_f32(limit.raw, v.raw)};
}
HWY_INLINE Full<double> at_most(Full<double> limit, Full<double> v) {
  return Full<double>{vminq_f64(limit.raw, v.raw)};
}

/// The four lanes of a, then those of b, saturated to 0 .. 65535.
HWY_INLINE U16 narrow(I32 a, I32 b) { return U16{vqmovun_high_s32(vqmovun_s32(a.raw), b.raw)}; }

/// Likewise, saturated to the signed integers, or the unsigned ones, of half the bits.
HWY_INLINE I16 narrow_signed(I32 a, I32 b) {
  return I16{vqmovn_high_s32(vqmovn_s32(a.raw), b.raw)};
}
HWY_INLINE U8 narrow_signed(I16 a, I16 b) {
  return U8{vreinterpretq_u8_s8(vqmovn_high_s16(vqmovn_s16(a.raw), b.raw))};
}
HWY_INLINE U8 narrow_unsigned(I16 a, I16 b) {
  return U8{vqmovun_high_s16(vqmovun_s16(a.raw), b.raw)};
}

/// In each lane of twice the bits the sum of the two lanes it had, or the even one less the odd
/// one.
HWY_INLINE I16 pair_sums(U8 v) { return I16{vreinterpretq_s16_u16(vpaddlq_u8(v.raw))}; }
HWY_INLINE I16 pair_differences(U8 v) {
  const uint8x8_t even = vget_low_u8(vuzp1q_u8(v.raw, v.raw));
  const uint8x8_t odd = vget_low_u8(vuzp2q_u8(v.raw, v.raw));
  return I16{vreinterpretq_s16_u16(vsubl_u8(even, odd))};
}
HWY_INLINE I32 pair_sums(I16 v) { return I32{vpaddlq_s16(v.raw)}; }
HWY_INLINE I32 pair_differences(I16 v) {
  const int16x4_t even = vget_low_s16(vuzp1q_s16(v.raw, v.raw));
  const int16x4_t odd = vget_low_s16(vuzp2q_s16(v.raw, v.raw));
  return I32{vsubl_s16(even, odd)};
}

/// The even lanes of a, then those of b; likewise the odd ones.
HWY_INLINE Full<float> even_lanes(Full<float> a, Full<float> b) {
  return Full<float>{vuzp1q_f32(a.raw, b.raw)};
}
HWY_INLINE Full<float> odd_lanes(Full<float> a, Full<float> b) {
  return Full<float>{vuzp2q_f32(a.raw, b.raw)};
}
HWY_INLINE Full<double> even_lanes(Full<double> a, Full<double> b) {
  return Full<double>{vuzp1q_f64(a.raw, b.raw)};
}
HWY_INLINE Full<double> odd_lanes(Full<double> a, Full<double> b) {
  return Full<double>{vuzp2q_f64(a.raw, b.raw)};
}

/// The even blocks of a, then those of b; likewise the odd ones: there is one block.
HWY_INLINE Full<float> even_blocks(Full<float> a, Full<float>) { return a; }
HWY_INLINE Full<float> odd_blocks(Full<float>, Full<float> b) { return b; }

/// Stores lower and upper, one behind the other.
HWY_INLINE void store_interleaved(U64 lower, U64 upper, std::uint64_t* out) {
  const hn::ScalableTag<std::uint64_t> d;
  hn::StoreU(lower, d, out);
  hn::StoreU(upper, d, out + 2);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
