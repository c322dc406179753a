#pragma once
// Which NaN an operation gives: on devices f32 has one, and the payload of f64 is not promised.

#include "ptx/settings.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace cohom::ptx {

inline float settled(float result, float, float) {
  return std::isnan(result) ? std::bit_cast<float>(0x7fffffffu) : result;
}

inline double settled(double result, double a, double b) {
  if (!std::isnan(result)) return result;
  const NanMode mode = Settings::instance().nan;
  if (mode == NanMode::canonical) return std::bit_cast<double>(0x7fffffffffffffffu);
  constexpr std::uint64_t quiet = std::uint64_t{1} << 51;
  const double first = mode == NanMode::first_operand ? a : b;
  const double second = mode == NanMode::first_operand ? b : a;
  for (const double operand : {first, second})
    if (std::isnan(operand))
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(operand) | quiet);
  return std::bit_cast<double>(0xfff8000000000000u);
}

}  // namespace cohom::ptx
