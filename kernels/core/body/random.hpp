#pragma once
// Counter-based random numbers: a pure function of (seed, step, stream, rank, frame, index), and
// part of the wire format (docs/wire-format.md, "Random numbers").
//
// Two multiplications a draw keep pace with memory on a CPU, which Philox does not; one draw serves
// four 8-bit dithers. The frame (256 positions of the vector) takes the expensive 64-bit mixing, so
// the cost per draw is mix32 alone.

#include "kernels/core/hd.hpp"

#include <cstdint>

namespace cohom::kernels::body {

inline constexpr std::uint64_t golden64 = 0x9e3779b97f4a7c15u;
inline constexpr std::uint32_t golden32 = 0x9e3779b9u;

/// What a draw is for; draws of different streams are independent.
enum class Stream : std::uint32_t {
  signs = 1,
  dither = 2,
  permutation = 3,
  sample = 4,
  choice = 5,
  sketch = 8,
  bloom = 9,
  energy = 10,
  projection = 11,
};

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
COHOM_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// C. Wellons' lowbias32: the least biased 32-bit mixer of two multiplications that he found.
COHOM_HD constexpr std::uint32_t mix32(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

/// `rank` is 0 for draws that all ranks share.
COHOM_HD constexpr std::uint64_t key(std::uint64_t seed, std::uint64_t step, Stream stream,
                                     std::uint32_t rank) {
  const auto purpose = static_cast<std::uint64_t>(stream) << 32 | rank;
  return mix64(mix64(mix64(seed + golden64) ^ step) ^ purpose);
}

COHOM_HD constexpr std::uint32_t frame(std::uint64_t key, std::uint64_t number) {
  return static_cast<std::uint32_t>(mix64(key + number * golden64));
}

/// Draw `index` of a frame.
COHOM_HD constexpr std::uint32_t draw(std::uint32_t frame, std::uint32_t index) {
  return mix32(frame + index * golden32);
}

/// Whether element 256 q + x of the vector is negated; `frame` is frame(sign key, q).
COHOM_HD constexpr bool negated(std::uint32_t frame, std::uint32_t x) {
  return (draw(frame, x % 16) >> (x / 16) & 1) != 0;
}

/// Dither of position 256 q + y; `frame` is frame(dither key, q).
COHOM_HD constexpr std::uint32_t dither(std::uint32_t frame, std::uint32_t y) {
  const std::uint32_t row = y / 16;
  return draw(frame, row / 4 * 16 + y % 16) >> (row % 4 * 8) & 0xff;
}

/// Which of `units` permutations frame q uses; `frame` is frame(permutation key, q).
COHOM_HD constexpr std::uint32_t permutation_number(std::uint32_t frame, std::uint32_t units) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(draw(frame, 0)) * units >> 32);
}

}  // namespace cohom::kernels::body
