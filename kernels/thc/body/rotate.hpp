#pragma once
// The randomised Walsh-Hadamard rotation of a block, unnormalised (H H = N). The order of the
// butterflies is part of the wire format: floating-point addition is not associative.

#include "kernels/core/body/random.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/thc/body/norm_code.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

template <class Real>
COHOM_HD inline void butterflies(Real* values, std::size_t count, std::size_t stride) {
  for (std::size_t base = 0; base < count; base += 2 * stride)
    for (std::size_t i = base; i < base + stride; ++i) {
      const Real a = values[i];
      const Real b = values[i + stride];
      values[i] = a + b;
      values[i + stride] = a - b;
    }
}

template <class Real>
COHOM_HD inline void butterflies(Real* values, std::size_t count, std::size_t first_stride,
                                 std::size_t end_stride) {
  const std::size_t end = end_stride < count ? end_stride : count;
  for (std::size_t stride = first_stride; stride < end; stride *= 2)
    butterflies(values, count, stride);
}

/// Encoding: across frames, across rows of 16, inside rows, so that a frame is loaded once.
template <class Real>
COHOM_HD inline void rotate_forward(Real* values, std::size_t count) {
  butterflies(values, count, 256, count);
  butterflies(values, count, 16, 256);
  butterflies(values, count, 1, 16);
}

/// Decoding: ascending strides.
template <class Real>
COHOM_HD inline void rotate_back(Real* values, std::size_t count) {
  butterflies(values, count, 1, count);
}

/// Position of coefficient i of a block: in blocks of at least a frame the two low nibbles are
/// swapped, which leaves out the last transposition of a frame held in 16 registers of 16 lanes.
/// Its own inverse.
COHOM_HD constexpr std::size_t position_of(std::size_t i, std::size_t count) {
  return count < 256 ? i : (i & ~std::size_t{0xff}) | (i & 0xf) << 4 | (i >> 4 & 0xf);
}

/// The number with its sign bit flipped when `negate` (zeros and all).
template <class Real>
COHOM_HD inline Real flip_sign(Real value, bool negate) {
  return negate ? -value : value;
}

/// Largest |exponent| of a norm for which one factor carries the whole power of two.
template <class Real>
inline constexpr int one_factor_exponent = sizeof(Real) == 4 ? 100 : 900;

/// Two factors applied one after the other; the power-of-two one is 1 except far from 1.
template <class Real>
struct BlockScale {
  Real factor;
  Real power;
};

/// v' = (v * power) * factor.
template <class Real>
COHOM_HD inline BlockScale<Real> encode_scale_of(double encode_scale, Norm<Real> norm) {
  constexpr int limit = one_factor_exponent<Real>;
  const Real c = static_cast<Real>(encode_scale) / norm.mantissa;
  const int s = norm.exponent < -limit ? limit : norm.exponent > limit ? -limit : 0;
  return {c * power_of_two<Real>(-(norm.exponent + s)), power_of_two<Real>(s)};
}

/// element = (y * factor) * power, for a block of `count` elements.
template <class Real>
COHOM_HD inline BlockScale<Real> decode_scale_of(double decode_scale, std::size_t count,
                                                 Norm<Real> norm) {
  constexpr int limit = one_factor_exponent<Real>;
  const Real c = static_cast<Real>(decode_scale / static_cast<double>(count)) * norm.mantissa;
  const int s = norm.exponent < -limit ? limit : norm.exponent > limit ? -limit : 0;
  return {c * power_of_two<Real>(norm.exponent + s), power_of_two<Real>(-s)};
}

}  // namespace cohom::kernels::body
