// Lanes of 16, 32 and 64 bits that a mask selects: finding, gathering and spreading them.
//
// AVX-512 moves lanes of 32 and 64 bits by a mask; its 16-bit lanes go through 32 bits, because the
// first processors that have it cannot. The others look permutations up in tables.

#if defined(COHOM_SPARSE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_SPARSE_LANES_INL_H
#undef COHOM_SPARSE_LANES_INL_H
#else
#define COHOM_SPARSE_LANES_INL_H
#endif

#include "kernels/core/cpu/lane_permutations.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The lanes of type T that the functions below treat at once; masks have as many bits.
template <class T>
inline constexpr std::size_t selected_lanes = HWY_MAX_BYTES / sizeof(T);
template <>
inline constexpr std::size_t selected_lanes<std::uint16_t> = HWY_MAX_BYTES == 64 ? 16 : 8;
template <class T>
using SelectedTag = hn::FixedTag<T, selected_lanes<T>>;
template <class T>
using Selected = hn::Vec<SelectedTag<T>>;

// select_lanes(from, mask): the selected lanes at `from` side by side, and anything behind them.
// spread_lanes(from, mask): the next lanes at `from` where the mask says so, and zeros elsewhere.
// Both read a whole vector.

#if HWY_MAX_BYTES == 64

HWY_INLINE Selected<std::uint32_t> select_lanes(const std::uint32_t* from, std::uint32_t mask) {
  const __m512i lanes = _mm512_loadu_si512(from);
  return Selected<std::uint32_t>{_mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), lanes)};
}
HWY_INLINE Selected<std::uint32_t> spread_lanes(const std::uint32_t* from, std::uint32_t mask) {
  const __m512i lanes = _mm512_loadu_si512(from);
  return Selected<std::uint32_t>{_mm512_maskz_expand_epi32(static_cast<__mmask16>(mask), lanes)};
}

HWY_INLINE Selected<std::uint64_t> select_lanes(const std::uint64_t* from, std::uint32_t mask) {
  const __m512i lanes = _mm512_loadu_si512(from);
  return Selected<std::uint64_t>{_mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), lanes)};
}
HWY_INLINE Selected<std::uint64_t> spread_lanes(const std::uint64_t* from, std::uint32_t mask) {
  const __m512i lanes = _mm512_loadu_si512(from);
  return Selected<std::uint64_t>{_mm512_maskz_expand_epi64(static_cast<__mmask8>(mask), lanes)};
}

HWY_INLINE __m512i widened(const std::uint16_t* from) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
HWY_INLINE Selected<std::uint16_t> select_lanes(const std::uint16_t* from, std::uint32_t mask) {
  return Selected<std::uint16_t>{_mm512_cvtepi32_epi16(
      _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), widened(from)))};
}
HWY_INLINE Selected<std::uint16_t> spread_lanes(const std::uint16_t* from, std::uint32_t mask) {
  return Selected<std::uint16_t>{_mm512_cvtepi32_epi16(
      _mm512_maskz_expand_epi32(static_cast<__mmask16>(mask), widened(from)))};
}

#else

/// Bytes of a block of 128 bits by a table's indices; zero where there is -1.
template <class T, class Indices>
HWY_INLINE hn::Vec128<T> permuted_block(const T* from, const Indices& indices) {
#if HWY_ARCH_ARM
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  const hn::FixedTag<std::uint8_t, 16> d8;
  const uint8x16_t bytes = hn::BitCast(d8, hn::LoadU(d, from)).raw;
  const uint8x16_t order = vreinterpretq_u8_s8(vld1q_s8(indices.part.data()));
  return hn::BitCast(d, hn::Vec128<std::uint8_t>{vqtbl1q_u8(bytes, order)});
#else
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(&indices));
  return hn::Vec128<T>{_mm_shuffle_epi8(bytes, order)};
#endif
}
HWY_INLINE Selected<std::uint16_t> select_lanes(const std::uint16_t* from, std::uint32_t mask) {
  return permuted_block(from, permutations_of_halves.compress[mask]);
}
HWY_INLINE Selected<std::uint16_t> spread_lanes(const std::uint16_t* from, std::uint32_t mask) {
  return permuted_block(from, permutations_of_halves.expand[mask]);
}

#if HWY_MAX_BYTES == 32

/// Words of 32 bits by a table's indices; zero where there is -1.
template <class T, class Indices>
HWY_INLINE hn::Vec256<T> permuted_words(const T* from, const Indices& indices) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i order =
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&indices)));
  const __m256i missing = _mm256_srai_epi32(order, 31);
  return hn::Vec256<T>{_mm256_andnot_si256(missing, _mm256_permutevar8x32_epi32(words, order))};
}
HWY_INLINE Selected<std::uint32_t> select_lanes(const std::uint32_t* from, std::uint32_t mask) {
  return permuted_words(from, permutations_of_8.compress[mask]);
}
HWY_INLINE Selected<std::uint32_t> spread_lanes(const std::uint32_t* from, std::uint32_t mask) {
  return permuted_words(from, permutations_of_8.expand[mask]);
}
HWY_INLINE Selected<std::uint64_t> select_lanes(const std::uint64_t* from, std::uint32_t mask) {
  return permuted_words(from, permutations_of_doubles.compress[mask]);
}
HWY_INLINE Selected<std::uint64_t> spread_lanes(const std::uint64_t* from, std::uint32_t mask) {
  return permuted_words(from, permutations_of_doubles.expand[mask]);
}

#else

HWY_INLINE Selected<std::uint32_t> select_lanes(const std::uint32_t* from, std::uint32_t mask) {
  return permuted_block(from, permutations_of_4.compress[mask]);
}
HWY_INLINE Selected<std::uint32_t> spread_lanes(const std::uint32_t* from, std::uint32_t mask) {
  return permuted_block(from, permutations_of_4.expand[mask]);
}
HWY_INLINE Selected<std::uint64_t> select_lanes(const std::uint64_t* from, std::uint32_t mask) {
  return permuted_block(from, permutations_of_pairs.compress[mask]);
}
HWY_INLINE Selected<std::uint64_t> spread_lanes(const std::uint64_t* from, std::uint32_t mask) {
  return permuted_block(from, permutations_of_pairs.expand[mask]);
}

#endif
#endif

#if HWY_ARCH_ARM

/// 16 lanes that are all ones or zeros, from `from` on: all ones where an element is not zero.
HWY_INLINE uint8x16_t bytes_not_zero(const std::uint16_t* from) {
  const uint16x8_t a = vld1q_u16(from), b = vld1q_u16(from + 8);
  return vuzp1q_u8(vreinterpretq_u8_u16(vtstq_u16(a, a)), vreinterpretq_u8_u16(vtstq_u16(b, b)));
}
HWY_INLINE uint16x8_t halves_not_zero(const std::uint32_t* from) {
  const uint32x4_t a = vld1q_u32(from), b = vld1q_u32(from + 4);
  return vuzp1q_u16(vreinterpretq_u16_u32(vtstq_u32(a, a)), vreinterpretq_u16_u32(vtstq_u32(b, b)));
}
HWY_INLINE uint32x4_t words_not_zero(const std::uint64_t* from) {
  const uint64x2_t a = vld1q_u64(from), b = vld1q_u64(from + 2);
  return vuzp1q_u32(vreinterpretq_u32_u64(vtstq_u64(a, a)), vreinterpretq_u32_u64(vtstq_u64(b, b)));
}
HWY_INLINE uint16x8_t halves_not_zero(const std::uint64_t* from) {
  return vuzp1q_u16(vreinterpretq_u16_u32(words_not_zero(from)),
                    vreinterpretq_u16_u32(words_not_zero(from + 4)));
}
template <class T>
HWY_INLINE uint8x16_t bytes_not_zero(const T* from) {
  return vuzp1q_u8(vreinterpretq_u8_u16(halves_not_zero(from)),
                   vreinterpretq_u8_u16(halves_not_zero(from + 8)));
}

/// Bit i: element i of the 64 at `from` is not zero.
template <class T>
HWY_INLINE std::uint64_t bits_not_zero(const T* from) {
  // Each byte keeps the bit of its place in a byte of the result. Sums of neighbours do the rest.
  const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
  const uint8x16_t a = vandq_u8(bytes_not_zero(from), place);
  const uint8x16_t b = vandq_u8(bytes_not_zero(from + 16), place);
  const uint8x16_t c = vandq_u8(bytes_not_zero(from + 32), place);
  const uint8x16_t d = vandq_u8(bytes_not_zero(from + 48), place);
  const uint8x16_t halves = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(halves, halves)), 0);
}

#else

/// Bit i: lane i of a vector at `from` is not zero.
template <class T>
HWY_INLINE std::uint64_t lanes_not_zero(const T* from) {
  const hn::ScalableTag<T> d;
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, from), hn::Zero(d)),
                    reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}

/// Bit i: element i of the 64 at `from` is not zero.
template <class T>
HWY_INLINE std::uint64_t bits_not_zero(const T* from) {
  constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(T);
  std::uint64_t bits = 0;
#pragma GCC unroll 32
  for (std::size_t i = 0; i < 64; i += lanes) bits |= lanes_not_zero(from + i) << i;
  return bits;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
