#pragma once
// Signs and counts of one block, element by element (docs/wire-format.md, "Signs").

#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/sign/sign.hpp"
#include "kernels/thc/thc.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// Room of a block of `count` elements on the wire: the smallest power of two >= 16.
COHOM_HD constexpr std::size_t padded_signs(std::size_t count) {
  std::size_t size = 16;
  while (size < count) size *= 2;
  return size;
}

/// A zero has no sign of its own: half of the ranks call it plus, and the others in the next call.
template <class Real>
COHOM_HD inline bool is_plus(Real value, bool zeros_are_plus) {
  return zeros_are_plus ? value >= 0 : value > 0;
}

/// Two exact factors whose product is 2^-exponent; one alone may be out of range.
template <class Real>
struct UnitScale {
  Real first, second;

  COHOM_HD explicit UnitScale(int exponent) {
    constexpr int limit = FloatFormat<Real>::bias - 1;
    const int near = exponent > limit ? -limit : -exponent > limit ? limit : -exponent;
    first = power_of_two<Real>(near);
    second = power_of_two<Real>(-exponent - near);
  }
};

/// Sum of 16 running sums; the order is part of the format.
template <class Real>
COHOM_HD inline Real folded(Real* sums) {
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

/// `largest`: bits of the largest magnitude that is measured; `own`: of those that have signs.
template <class Real>
COHOM_HD inline SignBlock block_of_magnitudes(typename FloatFormat<Real>::Bits largest,
                                              typename FloatFormat<Real>::Bits own) {
  using Format = FloatFormat<Real>;
  SignBlock block;
  block.alive = own != 0;
  if (largest >= Format::infinity || own >= Format::infinity)
    block.code = outlier_code;
  else if (largest != 0)
    block.code = static_cast<std::uint32_t>(floor_log2<Real>(largest) + sign_exponent_offset);
  return block;
}

/// Fewest pluses for the outcome to be plus, in bits of the outcome's words of even or odd number.
COHOM_HD constexpr std::uint32_t majority_threshold(std::uint32_t ranks, bool tie_is_plus) {
  return tie_is_plus ? (ranks + 1) / 2 : ranks / 2 + 1;
}

/// Magnitude of the result of a block of signs.
template <class Real>
COHOM_HD inline Real sign_value(double scale, std::uint32_t ranks, std::uint64_t divisor) {
  const Real sum = static_cast<Real>(scale) * static_cast<Real>(ranks);
  return divisor > 1 ? sum / static_cast<Real>(divisor) : sum;
}

}  // namespace cohom::kernels::body
