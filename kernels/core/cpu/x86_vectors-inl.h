// block_vectors-inl.h for x86.

#if defined(COHOM_X86_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_X86_VECTORS_INL_H
#undef COHOM_X86_VECTORS_INL_H
#else
#define COHOM_X86_VECTORS_INL_H
#endif

#include "kernels/core/cpu/full_vectors-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES == 64
#define COHOM_X86(name) _mm512_##name
#elif HWY_MAX_BYTES == 32
#define COHOM_X86(name) _mm256_##name
#else
#define COHOM_X86(name) _mm_##name
#endif

/// Nearest integers, ties to even; what is out of range becomes the smallest one.
HWY_INLINE I32 nearest(Full<float> v) { return I32{COHOM_X86(cvtps_epi32)(v.raw)}; }

/// The smaller ones; NaN where v is, for the minimum is its second operand then.
HWY_INLINE Full<float> at_most(Full<float> limit, Full<float> v) { return hn::Min(limit, v); }
HWY_INLINE Full<double> at_most(Full<double> limit, Full<double> v) { return hn::Min(limit, v); }

/// In each block the four lanes of a, then those of b, saturated to 0 .. 65535.
HWY_INLINE U16 narrow(I32 a, I32 b) { return U16{COHOM_X86(packus_epi32)(a.raw, b.raw)}; }

/// Likewise, saturated to the signed integers, or the unsigned ones, of half the bits.
HWY_INLINE I16 narrow_signed(I32 a, I32 b) { return I16{COHOM_X86(packs_epi32)(a.raw, b.raw)}; }
HWY_INLINE U8 narrow_signed(I16 a, I16 b) { return U8{COHOM_X86(packs_epi16)(a.raw, b.raw)}; }
HWY_INLINE U8 narrow_unsigned(I16 a, I16 b) { return U8{COHOM_X86(packus_epi16)(a.raw, b.raw)}; }

/// In each lane of twice the bits the sum of the two lanes it had, or the even one less the odd
/// one.
HWY_INLINE I16 pair_sums(U8 v) {
  const Full<std::int8_t> ones = hn::Set(hn::ScalableTag<std::int8_t>(), 1);
  return I16{COHOM_X86(maddubs_epi16)(v.raw, ones.raw)};
}
HWY_INLINE I16 pair_differences(U8 v) {
  const I16 signs = hn::Set(hn::ScalableTag<std::int16_t>(), static_cast<std::int16_t>(0xff01));
  return I16{COHOM_X86(maddubs_epi16)(v.raw, signs.raw)};
}
HWY_INLINE I32 pair_sums(I16 v) {
  const I16 ones = hn::Set(hn::ScalableTag<std::int16_t>(), 1);
  return I32{COHOM_X86(madd_epi16)(v.raw, ones.raw)};
}
HWY_INLINE I32 pair_differences(I16 v) {
  const I32 signs = hn::Set(hn::ScalableTag<std::int32_t>(), static_cast<std::int32_t>(0xffff0001));
  return I32{COHOM_X86(madd_epi16)(v.raw, signs.raw)};
}

/// In each block the even lanes of a, then those of b; likewise the odd ones.
HWY_INLINE Full<float> even_lanes(Full<float> a, Full<float> b) {
  return Full<float>{COHOM_X86(shuffle_ps)(a.raw, b.raw, 0x88)};
}
HWY_INLINE Full<float> odd_lanes(Full<float> a, Full<float> b) {
  return Full<float>{COHOM_X86(shuffle_ps)(a.raw, b.raw, 0xdd)};
}
HWY_INLINE Full<double> even_lanes(Full<double> a, Full<double> b) {
  return Full<double>{COHOM_X86(unpacklo_pd)(a.raw, b.raw)};
}
HWY_INLINE Full<double> odd_lanes(Full<double> a, Full<double> b) {
  return Full<double>{COHOM_X86(unpackhi_pd)(a.raw, b.raw)};
}

/// The even blocks of a, then those of b; likewise the odd ones.
#if HWY_MAX_BYTES == 64
HWY_INLINE Full<float> even_blocks(Full<float> a, Full<float> b) {
  return Full<float>{_mm512_shuffle_f32x4(a.raw, b.raw, 0x88)};
}
HWY_INLINE Full<float> odd_blocks(Full<float> a, Full<float> b) {
  return Full<float>{_mm512_shuffle_f32x4(a.raw, b.raw, 0xdd)};
}
#elif HWY_MAX_BYTES == 32
HWY_INLINE Full<float> even_blocks(Full<float> a, Full<float> b) {
  return hn::ConcatLowerLower(hn::ScalableTag<float>(), b, a);
}
HWY_INLINE Full<float> odd_blocks(Full<float> a, Full<float> b) {
  return hn::ConcatUpperUpper(hn::ScalableTag<float>(), b, a);
}
#else  // one block
HWY_INLINE Full<float> even_blocks(Full<float> a, Full<float>) { return a; }
HWY_INLINE Full<float> odd_blocks(Full<float>, Full<float> b) { return b; }
#endif

/// Stores lower and upper block by block, taking turns: what InterleaveLower and InterleaveUpper of
/// two vectors give, in the order of a plain interleaving.
HWY_INLINE void store_interleaved(U64 lower, U64 upper, std::uint64_t* out) {
  const hn::ScalableTag<std::uint64_t> d;
#if HWY_MAX_BYTES == 64
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  hn::StoreU(U64{_mm512_permutex2var_epi64(lower.raw, first, upper.raw)}, d, out);
  hn::StoreU(U64{_mm512_permutex2var_epi64(lower.raw, second, upper.raw)}, d, out + 8);
#elif HWY_MAX_BYTES == 32
  hn::StoreU(hn::ConcatLowerLower(d, upper, lower), d, out);
  hn::StoreU(hn::ConcatUpperUpper(d, upper, lower), d, out + 4);
#else
  hn::StoreU(lower, d, out);
  hn::StoreU(upper, d, out + 2);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#undef COHOM_X86

#endif
