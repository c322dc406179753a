// A frame of 8-bit sums back to elements: the common case of decoding, in integers.
//
// The sums are below 2^8, so seven of the eight strides fit 16-bit lanes and the eighth is the
// promotion. f32 butterflies of these numbers are exact too, and exact sums do not depend on their
// order, so the bits are those of the format's definition. z = 2S - bias is linear: the factor 2
// goes into the scale, the bias into the one element that sees it, the first.

#if defined(COHOM_THC_BYTE_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_BYTE_SUMS_INL_H
#undef COHOM_THC_BYTE_SUMS_INL_H
#else
#define COHOM_THC_BYTE_SUMS_INL_H
#endif

#include "kernels/core/cpu/block_vectors-inl.h"
#include "kernels/thc/cpu/thc_rotate-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Interleaves two vectors in lanes of T: the pair takes over the upper bit of the lane number in a
/// block, its own bit becomes the lowest. Then their butterfly.
template <class T>
HWY_INLINE void interleave_butterfly(I16& a, I16& b) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<std::int16_t> d16;
  const auto ta = hn::BitCast(d, a);
  const auto tb = hn::BitCast(d, b);
  a = hn::BitCast(d16, hn::InterleaveLower(d, ta, tb));
  b = hn::BitCast(d16, hn::InterleaveUpper(d, ta, tb));
  butterfly(a, b);
}

/// Likewise: the pair takes over the lowest bit of the block number, its own becomes the highest.
HWY_INLINE void block_butterfly(I16& a, I16& b) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<std::int16_t> d16;
  const auto fa = hn::BitCast(d, a);
  const auto fb = hn::BitCast(d, b);
  a = hn::BitCast(d16, even_blocks(fa, fb));
  b = hn::BitCast(d16, odd_blocks(fa, fb));
  butterfly(a, b);
}

/// The Walsh-Hadamard transform of a frame of 8-bit sums, but for the last stride, in 16-bit lanes.
///
/// Position 16 b + a is byte b div 2 of word a + 16 (b mod 2). With a3 .. b0 the bits of a and b,
/// what number a lane or a vector has is written from the lowest bit up. Vectors of one block:
///   bytes of a word  b1 b2 b3     words of a vector  a0     vectors  a3 b0 a2 a1 (in our order)
/// and one bit of the words more from the vectors to the blocks each time the vector doubles.
/// The stages below, with the pair's bit first, leave 16-bit lanes a3 b0 b1 (then b2, b3).
struct ByteTransform {
  static constexpr int blocks = HWY_MAX_BYTES / 16;
  static constexpr int vectors = 32 / blocks;
  enum Bit { a3 = 1, b0 = 2, b1 = 4, a2 = 8, a1 = 16 };

  I16 v[vectors];

  HWY_INLINE explicit ByteTransform(const std::uint64_t* words) {
    const hn::ScalableTag<std::uint8_t> d8;
#pragma GCC unroll 32
    for (int i = 0; i < vectors; ++i) {
      if (i & b1) continue;
      const int word = (i & a3 ? 8 : 0) + (i & b0 ? 16 : 0) + (i & a2 ? 4 : 0) + (i & a1 ? 2 : 0);
      const auto bytes = hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(words + word));
      v[i] = pair_sums(bytes);
      v[i + b1] = pair_differences(bytes);
    }
    pairs(
        b0, [](I16 & a, I16 & b) __attribute__((always_inline)) { butterfly(a, b); });
    pairs(a3, interleave_butterfly<std::int16_t>);          // a0 out; lanes a3 b2 b3
    pairs(b1, interleave_butterfly<std::int32_t>);          // b3 out; lanes a3 b1 b2
    pairs(b0, interleave_butterfly<std::int32_t>);          // b2 out; lanes a3 b0 b1
    if constexpr (blocks >= 2) pairs(b0, block_butterfly);  // a1 out; blocks b2, or a2 b2
    if constexpr (blocks == 4) pairs(b1, block_butterfly);  // a2 out; blocks b2 b3
    if constexpr (blocks <= 2)
      pairs(
          a2, [](I16 & a, I16 & b) __attribute__((always_inline)) { butterfly(a, b); });
    if constexpr (blocks == 1)
      pairs(
          a1, [](I16 & a, I16 & b) __attribute__((always_inline)) { butterfly(a, b); });
  }

  /// rows[a] := elements 16 a + column + lane; the promotion is the butterfly of a3.
  HWY_INLINE void rows(std::size_t column, I32 (&rows)[16]) const {
    // Who is where by now: a3 has become a0; b0 is a1, or b2 if there is one block only; b1 is a2,
    // or b3 if there are fewer than four.
    const int at_column =
        (blocks == 1 && column & 4 ? b0 : 0) + (blocks < 4 && column & 8 ? b1 : 0);
#pragma GCC unroll 8
    for (int a = 0; a < 8; ++a) {
      const int at_a1 = a & 2 ? (blocks == 1 ? a1 : b0) : 0;
      const int at_a2 = a & 4 ? (blocks == 4 ? b1 : a2) : 0;
      const I16& pair = v[at_column + (a & 1 ? a3 : 0) + at_a1 + at_a2];
      rows[a] = pair_sums(pair);
      rows[a + 8] = pair_differences(pair);
    }
  }

 private:
  template <class Operation>
  HWY_INLINE void pairs(int bit, Operation operation) {
#pragma GCC unroll 32
    for (int i = 0; i < vectors; ++i)
      if (!(i & bit)) operation(v[i], v[i + bit]);
  }
};

/// Calls put(index, v) with the elements of a frame of 8-bit sums. Exact for bias < 2^15.
template <class Put>
HWY_INLINE void decode_bytes(const std::uint64_t* words, std::int32_t bias,
                             const std::uint32_t (&sign_draws)[16], float factor, Put put) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<std::int32_t> d32;
  const ByteTransform transform(words);
  const auto scale = hn::Set(d, 2 * factor);
#pragma GCC unroll 4
  for (std::size_t column = 0; column < 16; column += hn::MaxLanes(d)) {
    I32 rows[16];
    transform.rows(column, rows);
    if (column == 0) {
      const auto first = hn::FirstN(d32, 1);
      rows[0] = hn::Sub(rows[0], hn::IfThenElseZero(first, hn::Set(d32, 128 * bias)));
    }
    RowSigns<decltype(d)> signs(d, sign_draws, column);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t r = 15 - i;
      put(16 * r + column, hn::Mul(signs.next(hn::ConvertTo(d, rows[r])), scale));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
