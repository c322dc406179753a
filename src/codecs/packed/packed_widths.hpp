#pragma once
// How wide the mini-blocks of packed are expected to be with a step, on all ranks alike (+ - * /
// and sqrt of IEEE 754 only; libm differs by machine). Specified in docs/wire-format.md, "packed".

#include "kernels/packed/body/packed_quantize.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom {

inline constexpr std::int32_t codes_per_octave = 32;

/// A step is 2^(code / codes_per_octave).
struct PackedStep {
  std::int32_t code = 0;

  [[nodiscard]] double value() const;
};

/// Bits of a mini-block's width in its header, for each value.
inline constexpr double packed_header_bits = 5.0 / 32;

/// Expected width, without header, of mini-blocks whose largest magnitudes lie in a quarter (0 to
/// 3) of the octave that begins at 2^(octave code / 32): a function of (octave code - step code)
/// alone.
double expected_width(std::size_t quarter, std::int32_t code_difference);

/// 32 times the exponent of the octave that a bin > 0 lies in; Real: float, or double for f64.
template <class Real>
constexpr std::int32_t octave_code(std::size_t bin) {
  return codes_per_octave *
         (static_cast<std::int32_t>((bin - 1) / 4) + kernels::body::PackedBins<Real>::min_exponent);
}
inline std::int32_t octave_code(ElementType type, std::size_t bin) {
  return type == ElementType::f64 ? octave_code<double>(bin) : octave_code<float>(bin);
}

}  // namespace cohom
