#pragma once
// A frame of 256 values, as 16 rows of 16, in the registers of 16 threads; half a warp. Butterflies
// of strides 16 to 128 lie in columns, those of 1 to 8 in rows, so with a column in a thread, and
// then a row, every butterfly is between registers, and values change threads once.

#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

inline constexpr unsigned frame_side = 16;
inline constexpr std::size_t frame_size = 256;
/// A block of 256 threads works on 16 frames at a time.
inline constexpr unsigned frame_threads = 256;
inline constexpr std::size_t frames_of_tile = frame_threads / frame_side;

/// A thread's place: its frame in the tile, and its column or row there.
struct FramePosition {
  unsigned frame;
  unsigned side;

  COHOM_HD explicit FramePosition(unsigned thread)
      : frame(thread / frame_side), side(thread % frame_side) {}
};

/// Butterflies over 16 registers with strides 1, 2, 4 and 8.
template <class Real, unsigned stride = 1>
COHOM_HD inline void turn(Real (&values)[frame_side]) {
  COHOM_UNROLL
  for (unsigned i = 0; i < frame_side; ++i) {
    if ((i & stride) != 0) continue;
    const Real a = values[i];
    const Real b = values[i + stride];
    values[i] = a + b;
    values[i + stride] = a - b;
  }
  if constexpr (2 * stride < frame_side) turn<Real, 2 * stride>(values);
}

/// body::flip_sign by bit `bit` < 16.
template <class Real>
COHOM_HD inline Real flip_by_bit(Real value, std::uint32_t bits, unsigned bit) {
  using Bits = typename body::FloatFormat<Real>::Bits;
  const Bits sign = static_cast<Bits>(bits << (31 - bit) & 0x80000000u) << (8 * sizeof(Real) - 32);
  return body::from_bits<Real>(body::bits_of(value) ^ sign);
}

/// Where the frames of a tile change threads. Rows have gaps such that neither rows, four values at
/// a time, nor columns meet in a bank of shared memory.
template <class Real>
struct FrameRows {
  static constexpr unsigned row = sizeof(Real) == 4 ? 20 : 18;
  static constexpr unsigned frame = sizeof(Real) == 4 ? 336 : 288;
  alignas(16) Real values[frames_of_tile * frame];

  [[nodiscard]] COHOM_HD static unsigned at(const FramePosition& place, unsigned r,
                                            unsigned column) {
    return place.frame * frame + r * row + column;
  }
  COHOM_HD void put_column(const FramePosition& place, const Real (&from)[frame_side]) {
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r) values[at(place, r, place.side)] = from[r];
  }
  COHOM_HD void get_column(const FramePosition& place, Real (&to)[frame_side]) const {
    COHOM_UNROLL
    for (unsigned r = 0; r < frame_side; ++r) to[r] = values[at(place, r, place.side)];
  }
  COHOM_HD void put_row(const FramePosition& place, const Real (&from)[frame_side]) {
    COHOM_UNROLL
    for (unsigned c = 0; c < frame_side; ++c) values[at(place, place.side, c)] = from[c];
  }
  COHOM_HD void get_row(const FramePosition& place, Real (&to)[frame_side]) const {
    COHOM_UNROLL
    for (unsigned c = 0; c < frame_side; ++c) to[c] = values[at(place, place.side, c)];
  }
};

/// Element of the frame in register r of the thread that has column `side`.
COHOM_HD constexpr std::size_t in_column(const FramePosition& place, unsigned r) {
  return std::size_t{r} * frame_side + place.side;
}

// Coefficient c of row `side` is at position 16 c + side of the frame (body::position_of), so in
// lanes of 4 bits this thread has all of word `side`, and in lanes of 4 m bits, m = 1, 2, 4 or 8,
// all of m words.

/// m, or 0 when words have lanes of several threads.
COHOM_HD constexpr unsigned own_words(unsigned width) {
  return width == 4 || width == 8 || width == 16 || width == 32 ? width / 4 : 0;
}

template <unsigned m>
COHOM_HD inline void put_own_words(const FramePosition& place,
                                   const std::uint32_t (&values)[frame_side],
                                   std::uint64_t* words) {
  COHOM_UNROLL
  for (unsigned w = 0; w < m; ++w) {
    std::uint32_t halves[2] = {0, 0};
    COHOM_UNROLL
    for (unsigned lane = 0; lane < frame_side / m; ++lane)
      halves[lane * 4 * m / 32] |= values[lane * m + w] << (lane * 4 * m % 32);
    words[w * frame_side + place.side] = std::uint64_t{halves[1]} << 32 | halves[0];
  }
}

template <unsigned m>
COHOM_HD inline void get_own_words(const FramePosition& place, const std::uint64_t* words,
                                   std::uint32_t (&values)[frame_side]) {
  constexpr std::uint32_t mask = m == 8 ? ~std::uint32_t{0} : (std::uint32_t{1} << 4 * m % 32) - 1;
  std::uint64_t read[m];
  COHOM_UNROLL
  for (unsigned w = 0; w < m; ++w) read[w] = words[w * frame_side + place.side];
  COHOM_UNROLL
  for (unsigned w = 0; w < m; ++w) {
    const std::uint32_t halves[2] = {static_cast<std::uint32_t>(read[w]),
                                     static_cast<std::uint32_t>(read[w] >> 32)};
    COHOM_UNROLL
    for (unsigned lane = 0; lane < frame_side / m; ++lane)
      values[lane * m + w] = halves[lane * 4 * m / 32] >> (lane * 4 * m % 32) & mask;
  }
}

}  // namespace cohom::kernels::device
