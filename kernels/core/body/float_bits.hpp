#pragma once
// The bits of binary32 and binary64 numbers, and exact powers of two.

#include "kernels/core/hd.hpp"

#include <cstdint>
#include <cstring>

namespace cohom::kernels::body {

template <class Real>
struct FloatFormat;

template <>
struct FloatFormat<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr Bits magnitude_mask = 0x7fffffffu;
  static constexpr Bits infinity = 0x7f800000u;
  static constexpr Bits canonical_nan = 0x7fc00000u;
};

template <>
struct FloatFormat<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr Bits magnitude_mask = 0x7fffffffffffffffu;
  static constexpr Bits infinity = 0x7ff0000000000000u;
  static constexpr Bits canonical_nan = 0x7ff8000000000000u;
};

// memcpy and not std::bit_cast: nvcc takes it on the device without further flags.
template <class Real>
COHOM_HD inline typename FloatFormat<Real>::Bits bits_of(Real value) {
  typename FloatFormat<Real>::Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class Real>
COHOM_HD inline Real from_bits(typename FloatFormat<Real>::Bits bits) {
  Real value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Bits of |value|. They order like the magnitudes, infinity above all numbers and NaN above it.
template <class Real>
COHOM_HD inline typename FloatFormat<Real>::Bits magnitude_bits(Real value) {
  return bits_of(value) & FloatFormat<Real>::magnitude_mask;
}

/// 2^exponent; the exponent must be one of a normal number.
template <class Real>
COHOM_HD inline Real power_of_two(int exponent) {
  using Format = FloatFormat<Real>;
  using Bits = typename Format::Bits;
  return from_bits<Real>(static_cast<Bits>(exponent + Format::bias) << Format::mantissa_bits);
}

/// value * 2^exponent, also where 2^exponent is no number of f64; exact unless the result is
/// denormal.
COHOM_HD inline double scaled(double value, int exponent) {
  return value * power_of_two<double>(exponent / 2) * power_of_two<double>(exponent - exponent / 2);
}

/// floor(log2 m) of a finite m > 0 given as its bits, denormal or not.
template <class Real>
COHOM_HD inline int floor_log2(typename FloatFormat<Real>::Bits bits) {
  using Format = FloatFormat<Real>;
  const int field = static_cast<int>(bits >> Format::mantissa_bits);
  if (field != 0) return field - Format::bias;
  // A denormal is its bits times the smallest one, and its bits are exact as a normal number.
  const auto normal = bits_of(static_cast<Real>(bits));
  return static_cast<int>(normal >> Format::mantissa_bits) - Format::bias -
         (Format::bias - 1 + Format::mantissa_bits);
}

/// The value itself, or the one NaN this library writes (sign 0, quiet bit, nothing else).
template <class Real>
COHOM_HD inline Real canonical(Real value) {
  using Format = FloatFormat<Real>;
  return magnitude_bits(value) > Format::infinity ? from_bits<Real>(Format::canonical_nan) : value;
}

}  // namespace cohom::kernels::body
