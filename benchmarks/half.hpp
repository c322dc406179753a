#pragma once
// 16-bit floats to binary32 and back, branch-free so that compilers vectorise loops over them.
//
// The library has its own conversions. The benchmark judges the library and therefore does not
// borrow them; a test compares the two.

#include <cohom/element_type.hpp>

#include <bit>
#include <cstdint>

namespace cohom::bench {

inline float to_float(bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Nearest, ties to even; a NaN stays one.
inline bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<std::uint16_t>((nan ? bits | 0x00400000u : rounded) >> 16)};
}

/// Exact.
inline float to_float(float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffu) << 13;
  // The exponent field is 112 short. Multiplying by 2^112 corrects it, for denormals too; only
  // infinities and NaNs must have theirs filled up afterwards.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const bool special = magnitude >= 0x0f800000u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | (special ? 0x7f800000u : 0u) |
                              sign);
}

/// Nearest, ties to even; overflow gives infinity; a NaN stays one.
inline float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  // Below 2^-14 the addition of 1/2 leaves the value in units of 2^-24, rounded by the hardware.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and more
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return {static_cast<std::uint16_t>(sign | result)};
}

}  // namespace cohom::bench
