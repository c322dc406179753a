// Rotating a frame of 256 values in 16 vectors: random signs and Walsh-Hadamard butterflies.
//
// A frame is 16 rows of 16. The butterflies across rows are additions of vectors. Those inside rows
// first bring the two halves of every pair into two vectors, by a shuffle that moves one bit of the
// row number into the lane number; after the four of them rows and columns have changed places.
// That is the order of positions in a payload, so an encoder never transposes back, and a decoder
// that starts with positions ends with elements: both run the same code.
//
// With vectors of 16 lanes a frame stays in registers. With shorter ones it goes through memory
// once between the two halves, 16 vectors at a time.

#if defined(COHOM_THC_ROTATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_ROTATE_INL_H
#undef COHOM_THC_ROTATE_INL_H
#else
#define COHOM_THC_ROTATE_INL_H
#endif

#include "kernels/core/body/random.hpp"
#include "kernels/core/cpu/block_vectors-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Draws first, first + 1, ... of a frame, one a 32-bit lane.
template <class DU>
HWY_INLINE hn::Vec<DU> frame_draws(DU d, std::uint32_t frame, std::uint32_t first) {
  auto x = hn::Add(hn::Mul(hn::Iota(d, 0), hn::Set(d, body::golden32)),
                   hn::Set(d, frame + first * body::golden32));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(d, 0x7feb352du));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// draws[l] := draw l of a frame, for its 16 columns.
HWY_INLINE void draw_signs(std::uint32_t frame, std::uint32_t (&draws)[16]) {
  const hn::ScalableTag<std::uint32_t> d;
  for (std::uint32_t l = 0; l < 16; l += static_cast<std::uint32_t>(hn::MaxLanes(d)))
    hn::StoreU(frame_draws(d, frame, l), d, draws + l);
}

/// Flips signs of the rows 15, 14, ... 0 of a frame, one call a row. Bit r of a column's draw is
/// the sign in row r; doubling brings the next lower row's bit to the top.
template <class D>
class RowSigns {
  using DU = hn::RebindToUnsigned<D>;

 public:
  HWY_INLINE RowSigns(D, const std::uint32_t (&draws)[16], std::size_t column) {
    const hn::Rebind<std::uint32_t, D> d32;
    const auto drawn = hn::LoadU(d32, draws + column);
    if constexpr (sizeof(hn::TFromD<D>) == 4)
      bits_ = hn::ShiftLeft<16>(drawn);
    else
      bits_ = hn::ShiftLeft<48>(hn::PromoteTo(DU(), drawn));
  }

  HWY_INLINE hn::Vec<D> next(hn::Vec<D> v) {
    const DU du;
    const auto top = hn::BitCast(du, hn::Set(D(), hn::TFromD<D>{-0.0}));
    const auto flipped = hn::Xor(hn::BitCast(du, v), hn::And(bits_, top));
    bits_ = hn::Add(bits_, bits_);
    return hn::BitCast(D(), flipped);
  }

 private:
  hn::Vec<DU> bits_;
};

template <class V>
HWY_INLINE void butterfly(V& a, V& b) {
  const V sum = hn::Add(a, b);
  b = hn::Sub(a, b);
  a = sum;
}

/// Strides 1, 2, 4, 8 in vectors: 16, 32, 64, 128 in elements.
template <class V>
HWY_INLINE void rotate_rows(V (&v)[16]) {
#pragma GCC unroll 4
  for (int stride = 1; stride < 16; stride *= 2)
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      if (!(i & stride)) butterfly(v[i], v[i + stride]);
}

/// One stride inside rows. Lane bit log2(stride) becomes the same bit of the vector's number.
template <int stride, class D, class V>
HWY_INLINE void rotate_columns(D, V (&v)[16]) {
  constexpr int block_lanes = 16 / sizeof(hn::TFromD<D>);
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  const hn::ScalableTag<float> df;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i & stride) continue;
    V& a = v[i];
    V& b = v[i + stride];
    if constexpr (stride < block_lanes) {
      const V even = even_lanes(a, b);
      b = odd_lanes(a, b);
      a = even;
    } else if constexpr (stride < lanes) {
      const auto fa = hn::BitCast(df, a);
      const auto fb = hn::BitCast(df, b);
      a = hn::BitCast(D(), even_blocks(fa, fb));
      b = hn::BitCast(D(), odd_blocks(fa, fb));
    }
    butterfly(a, b);
  }
}

/// Rotates a frame. load(column, v) fills v[r] with row r from that column on; emit(column, v) is
/// given the rows of the transposed result in the same way. Each is called once for every vector of
/// a row. Always inlined, as are the two: a frame must stay in registers.
template <class D, class Load, class Emit>
HWY_INLINE void rotate_frame(D d, Load load, Emit emit) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  hn::Vec<D> v[16];
  if constexpr (lanes == 16) {
    load(0, v);
    rotate_rows(v);
    rotate_columns<1>(d, v);
    rotate_columns<2>(d, v);
    rotate_columns<4>(d, v);
    rotate_columns<8>(d, v);
    emit(0, v);
  } else {
    HWY_ALIGN hn::TFromD<D> frame[256];
    for (std::size_t column = 0; column < 16; column += lanes) {
      load(column, v);
      rotate_rows(v);
#pragma GCC unroll 16
      for (std::size_t r = 0; r < 16; ++r) hn::Store(v[r], d, frame + 16 * r + column);
    }
    for (std::size_t row = 0; row < 16; row += lanes) {
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i)
        v[i] = hn::Load(d, frame + 16 * (row + i % lanes) + i / lanes * lanes);
      rotate_columns<1>(d, v);
      rotate_columns<2>(d, v);
      rotate_columns<4>(d, v);
      rotate_columns<8>(d, v);
      emit(row, v);
    }
  }
}

/// Strides of `count` frames, 256 and up: radix 16, so that a value is loaded once for four
/// strides.
template <std::size_t radix, class D, class Real>
HWY_INLINE void rotate_frames_by(D d, Real* values, std::size_t count, std::size_t stride) {
  for (std::size_t base = 0; base < count; base += radix * stride)
    for (std::size_t i = 256 * base; i < 256 * (base + stride); i += hn::MaxLanes(d)) {
      hn::Vec<D> v[radix];
#pragma GCC unroll 16
      for (std::size_t k = 0; k < radix; ++k) v[k] = hn::Load(d, values + i + 256 * k * stride);
#pragma GCC unroll 4
      for (std::size_t half = 1; half < radix; half *= 2)
#pragma GCC unroll 16
        for (std::size_t k = 0; k < radix; ++k)
          if (!(k & half)) butterfly(v[k], v[k + half]);
#pragma GCC unroll 16
      for (std::size_t k = 0; k < radix; ++k) hn::Store(v[k], d, values + i + 256 * k * stride);
    }
}

template <class D, class Real>
HWY_INLINE void rotate_frames(D d, Real* values, std::size_t count) {
  for (std::size_t stride = 1; stride < count; stride *= 16) switch (count / stride) {
      case 2: rotate_frames_by<2>(d, values, count, stride); break;
      case 4: rotate_frames_by<4>(d, values, count, stride); break;
      case 8: rotate_frames_by<8>(d, values, count, stride); break;
      default: rotate_frames_by<16>(d, values, count, stride);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
