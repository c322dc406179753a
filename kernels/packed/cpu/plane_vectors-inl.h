// What bit planes need of a processor beyond Highway 1.0.3: expanding and compressing u32 lanes by
// a mask in memory order, the bits of a comparison, and a byte's bits across a vector.

#if defined(COHOM_PLANE_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PLANE_VECTORS_INL_H
#undef COHOM_PLANE_VECTORS_INL_H
#else
#define COHOM_PLANE_VECTORS_INL_H
#endif

#include "kernels/core/cpu/block_vectors-inl.h"
#include "kernels/core/cpu/lane_permutations.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::size_t lanes32 = HWY_MAX_BYTES / 4;
inline constexpr std::uint32_t all_lanes32 = (1u << lanes32) - 1;

/// Lanes whose bit is set: `words` in order; other lanes: those of `others`. With AVX-512 only the
/// words that are wanted are read, otherwise a whole vector.
HWY_INLINE U32 expand_words(const std::uint32_t* words, std::uint32_t mask, U32 others) {
#if HWY_MAX_BYTES == 64
  return U32{_mm512_mask_expandloadu_epi32(others.raw, static_cast<__mmask16>(mask), words)};
#elif HWY_MAX_BYTES == 32
  const auto& indices = permutations_of_8.expand[mask];
  const __m256i order =
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&indices)));
  const __m256i loaded = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  const __m256i expanded = _mm256_permutevar8x32_epi32(loaded, order);
  return U32{_mm256_castps_si256(_mm256_blendv_ps(
      _mm256_castsi256_ps(expanded), _mm256_castsi256_ps(others.raw), _mm256_castsi256_ps(order)))};
#elif HWY_ARCH_ARM
  const auto& indices = permutations_of_4.expand[mask];
  const uint8x16_t order = vreinterpretq_u8_s8(vld1q_s8(indices.part.data()));
  const uint8x16_t loaded = vreinterpretq_u8_u32(vld1q_u32(words));
  const uint8x16_t lanes = vqtbx1q_u8(vreinterpretq_u8_u32(others.raw), loaded, order);
  return U32{vreinterpretq_u32_u8(lanes)};
#else
  const auto& indices = permutations_of_4.expand[mask];
  const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(&indices));
  const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
  return U32{_mm_blendv_epi8(_mm_shuffle_epi8(loaded, order), others.raw, order)};
#endif
}

/// Stores the selected lanes side by side, and anything in the rest of a vector.
HWY_INLINE void compress_words(U32 v, std::uint32_t mask, std::uint32_t* words) {
  // Not a compressing store: on some processors that is microcode.
#if HWY_MAX_BYTES == 64
  _mm512_storeu_si512(words, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), v.raw));
#elif HWY_MAX_BYTES == 32
  const auto& indices = permutations_of_8.compress[mask];
  const __m256i order =
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&indices)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), _mm256_permutevar8x32_epi32(v.raw, order));
#elif HWY_ARCH_ARM
  const auto& indices = permutations_of_4.compress[mask];
  const uint8x16_t order = vreinterpretq_u8_s8(vld1q_s8(indices.part.data()));
  vst1q_u32(words, vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(v.raw), order)));
#else
  const auto& indices = permutations_of_4.compress[mask];
  const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(&indices));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words), _mm_shuffle_epi8(v.raw, order));
#endif
}

/// Bit i: lane i of a differs from that of b.
HWY_INLINE std::uint32_t lanes_that_differ(U32 a, U32 b) {
#if HWY_MAX_BYTES == 64
  return _mm512_cmpneq_epi32_mask(a.raw, b.raw);
#elif HWY_MAX_BYTES == 32
  const __m256 equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.raw, b.raw));
  return static_cast<std::uint32_t>(_mm256_movemask_ps(equal)) ^ all_lanes32;
#elif HWY_ARCH_ARM
  const std::uint32_t bits[4] = {1, 2, 4, 8};
  return vaddvq_u32(vbicq_u32(vld1q_u32(bits), vceqq_u32(a.raw, b.raw)));
#else
  const __m128 equal = _mm_castsi128_ps(_mm_cmpeq_epi32(a.raw, b.raw));
  return static_cast<std::uint32_t>(_mm_movemask_ps(equal)) ^ all_lanes32;
#endif
}

/// The carry of adding three bits.
HWY_INLINE U32 majority(U32 a, U32 b, U32 c) {
#if HWY_MAX_BYTES == 64
  return U32{_mm512_ternarylogic_epi32(a.raw, b.raw, c.raw, 0xe8)};
#elif HWY_ARCH_ARM  // selects by bits in one operation
  return hn::IfVecThenElse(hn::Xor(a, b), c, b);
#else
  return hn::Or(hn::And(a, b), hn::And(c, hn::Or(a, b)));
#endif
}

#if HWY_ARCH_X86
/// A bit of every byte of a vector.
using ByteBits =
    std::conditional_t<HWY_MAX_BYTES == 64, std::uint64_t,
                       std::conditional_t<HWY_MAX_BYTES == 32, std::uint32_t, std::uint16_t>>;
/// The topmost ones.
HWY_INLINE ByteBits top_bits(U8 v) {
#if HWY_MAX_BYTES == 64
  return _mm512_movepi8_mask(v.raw);
#elif HWY_MAX_BYTES == 32
  return static_cast<ByteBits>(_mm256_movemask_epi8(v.raw));
#else
  return static_cast<ByteBits>(_mm_movemask_epi8(v.raw));
#endif
}
#endif

/// Puts the bytes of four vectors of i32 in order, which were narrowed twice in blocks.
HWY_INLINE U8 in_order(U8 v) {
#if HWY_MAX_BYTES == 64
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  return U8{_mm512_permutexvar_epi32(order, v.raw)};
#elif HWY_MAX_BYTES == 32
  const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
  return U8{_mm256_permutevar8x32_epi32(v.raw, order)};
#else
  return v;
#endif
}

/// Largest integers that are not above, |v| < 2^31.
HWY_INLINE I32 floor_integers(Full<float> v) {
#if HWY_MAX_BYTES == 64
  return I32{_mm512_cvt_roundps_epi32(v.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
#elif HWY_ARCH_ARM
  return I32{vcvtmq_s32_f32(v.raw)};
#else
  return nearest(hn::Floor(v));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
