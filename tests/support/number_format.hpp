#pragma once
// What numbers an element type has, in words of its own: no codec's constants.

#include <cohom/element_type.hpp>

#include <stdexcept>

namespace cohom::test {

/// Finite numbers are m * 2^e with |m| < 2^precision, e >= min_exponent and magnitudes below
/// 2^max_exponent.
struct NumberFormat {
  int precision;
  int max_exponent;
  int min_exponent;  ///< of the least denormal

  /// Bit positions from the least denormal to the largest number.
  [[nodiscard]] int positions() const { return max_exponent - min_exponent; }
};

inline NumberFormat number_format(ElementType type) {
  switch (type) {
    case ElementType::f64: return {53, 1024, -1074};
    case ElementType::f32: return {24, 128, -149};
    case ElementType::f16: return {11, 16, -24};
    case ElementType::bf16: return {8, 128, -133};
  }
  throw std::logic_error("number_format: no such type");
}

}  // namespace cohom::test
