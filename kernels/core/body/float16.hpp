#pragma once
// binary16 and bfloat16 to binary32 and back: round to nearest even, denormals kept, one NaN.

#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"

#include <cstdint>

namespace cohom::kernels::body {

/// Exact; a NaN becomes the canonical binary32 NaN.
COHOM_HD inline float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude > 0x7c00u) return from_bits<float>(FloatFormat<float>::canonical_nan);
  if (magnitude == 0x7c00u) return from_bits<float>(sign | FloatFormat<float>::infinity);
  if (magnitude >= 0x0400u) return from_bits<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Denormal: magnitude * 2^-24, exact as both factors are.
  const float value = static_cast<float>(magnitude) * power_of_two<float>(-24);
  return from_bits<float>(sign | bits_of(value));
}

/// Nearest binary16, ties to even; overflow gives infinity, NaN gives 0x7e00.
COHOM_HD inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = bits_of(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > FloatFormat<float>::infinity) return 0x7e00u;
  // 0x477ff000 is 65520, halfway between the largest binary16 and the next power of two.
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude >=
      0x38800000u) {  // normal: a carry out of the mantissa steps the exponent, rightly
    const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
  }
  // Denormal or zero: adding 1/2 leaves the mantissa of the sum in units of 2^-24, rounded by IEEE
  // addition itself.
  const float shifted = from_bits<float>(magnitude) + 0.5f;
  return static_cast<std::uint16_t>(sign | (bits_of(shifted) - bits_of(0.5f)));
}

/// Exact; a NaN becomes the canonical binary32 NaN.
COHOM_HD inline float bf16_to_f32(std::uint16_t half) {
  return canonical(from_bits<float>(static_cast<std::uint32_t>(half) << 16));
}

/// Nearest bfloat16, ties to even; overflow gives infinity, NaN gives 0x7fc0.
COHOM_HD inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > FloatFormat<float>::infinity) return 0x7fc0u;
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

}  // namespace cohom::kernels::body
