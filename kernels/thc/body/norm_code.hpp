#pragma once
// Norm codes: the Euclidean norm of a block as 32 bits that order like the norms, so that `max`
// agrees on the largest (docs/wire-format.md, "Norm code").

#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/thc/thc.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// A code's two fields. f32: 9 bits of exponent, 23 of mantissa; f64: 12 and 20.
template <class Real>
struct NormCodeFormat;

template <>
struct NormCodeFormat<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr int offset = 150;  ///< makes room for the smallest denormal, 2^-149
};

template <>
struct NormCodeFormat<double> {
  static constexpr int mantissa_bits = 20;
  static constexpr int offset = 1100;
};

/// mantissa * 2^exponent, 1 <= mantissa < 2.
template <class Real>
struct Norm {
  Real mantissa;
  int exponent;
};

/// Which way a code is rounded when its mantissa has fewer bits than the number (f64).
enum class CodeRounding { up, nearest };

/// Code of number * 2^exponent, for number > 0 and normal.
template <class Real>
COHOM_HD inline std::uint32_t norm_code_of(Real number, int exponent,
                                           CodeRounding rounding = CodeRounding::up) {
  using Format = FloatFormat<Real>;
  using Bits = typename Format::Bits;
  constexpr int dropped = Format::mantissa_bits - NormCodeFormat<Real>::mantissa_bits;
  Bits bits = bits_of(number);
  bits += static_cast<Bits>(exponent + NormCodeFormat<Real>::offset) << Format::mantissa_bits;
  if constexpr (dropped == 0) {
    return bits;
  } else {
    constexpr Bits unit = Bits{1} << dropped;
    bits += rounding == CodeRounding::up ? unit - 1 : unit / 2 - 1 + (bits >> dropped & 1);
    return static_cast<std::uint32_t>(bits >> dropped);
  }
}

/// The norm of a code that is neither 0 nor an outlier's.
template <class Real>
COHOM_HD inline Norm<Real> norm_of_code(std::uint32_t code) {
  using Format = FloatFormat<Real>;
  using Code = NormCodeFormat<Real>;
  using Bits = typename Format::Bits;
  const Bits mantissa = code & ((std::uint32_t{1} << Code::mantissa_bits) - 1);
  const Bits one = static_cast<Bits>(Format::bias) << Format::mantissa_bits;
  return {from_bits<Real>(one | mantissa << (Format::mantissa_bits - Code::mantissa_bits)),
          static_cast<int>(code >> Code::mantissa_bits) - Format::bias - Code::offset};
}

/// Sum of squares of a frame of `count` values, prescaled by a * b: 16 running sums, then a fold.
/// The fixed order is part of the format and is what 16 SIMD lanes do.
template <class Real>
COHOM_HD inline Real frame_energy(const Real* values, std::size_t count, Real a, Real b) {
  Real sums[16] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const Real w = (values[i] * a) * b;
    sums[i % 16] += w * w;
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

/// Code of a padded block of `count` values.
template <class Real>
COHOM_HD inline std::uint32_t norm_code(const Real* values, std::size_t count) {
  using Format = FloatFormat<Real>;
  typename Format::Bits largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto magnitude = magnitude_bits(values[i]);
    if (magnitude > largest) largest = magnitude;
  }
  if (largest == 0) return 0;
  if (largest >= Format::infinity) return outlier_code;

  // Exact scaling to a maximum in [1, 2), in two steps because one power may be out of range.
  constexpr int limit = Format::bias - 1;
  const int exponent = floor_log2<Real>(largest);
  const int first = exponent > limit ? -limit : -exponent > limit ? limit : -exponent;
  const Real a = power_of_two<Real>(first);
  const Real b = power_of_two<Real>(-exponent - first);
  Real energy = 0;
  for (std::size_t start = 0; start < count; start += 256)
    energy += frame_energy(values + start, count - start < 256 ? count - start : 256, a, b);
  return norm_code_of(std::sqrt(energy), exponent);
}

}  // namespace cohom::kernels::body
