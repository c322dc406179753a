#pragma once
// SketchMeans: cells of integers as means. The sum is divided before the only rounding, so a mean
// of f16 does not overflow with its sum.

#include "codecs/common/long_accumulator.hpp"
#include "kernels/core/body/bits.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <cohom/element_type.hpp>

#include <cmath>
#include <cstdint>

namespace cohom {

class SketchMeans {
 public:
  /// Of cells in units of 2^unit_exponent.
  SketchMeans(ElementType type, int unit_exponent, std::uint64_t divisor)
      : type_(type), unit_exponent_(unit_exponent), divisor_(divisor) {}

  /// As an element of T, which `type` is, in its arithmetic: f32.
  template <class T>
  [[nodiscard]] float of(std::uint64_t cell) const {
    const auto integer = static_cast<std::int64_t>(cell);
    const auto sum = static_cast<double>(integer);
    // Few sums have more bits than f64.
    if (std::abs(sum) >= 0x1p62 || static_cast<std::int64_t>(sum) != integer)
      return of_long(integer);
    const auto divisor = static_cast<double>(divisor_);
    const double quotient = sum / divisor;
    const double odd = to_odd(quotient, std::fma(-quotient, divisor, sum));
    const double value = kernels::body::scaled(odd, unit_exponent_);
    const auto rounded = static_cast<float>(value);
    if constexpr (sizeof(T) == sizeof(float)) return rounded;
    return to_odd(rounded, value - static_cast<double>(rounded));
  }

 private:
  /// A rounded number, made odd in its last bit where something was lost: rounding it to fewer
  /// bits, by two at least, is then the only rounding (Boldo and Melquiond, 2008). `lost` has the
  /// sign of what was lost.
  template <class Real>
  static Real to_odd(Real rounded, double lost) {
    using namespace kernels::body;
    const auto bits = bits_of(rounded);
    if (lost == 0 || bits % 2 == 1 || !std::isfinite(rounded)) return rounded;
    return from_bits<Real>((lost > 0) == (rounded > 0) ? bits + 1 : bits - 1);
  }

  [[nodiscard]] float of_long(std::int64_t integer) const {
    constexpr std::int64_t half = std::int64_t{1} << 32;
    LongAccumulator sum;
    for (const std::int64_t part : {integer / half * half, integer % half})
      sum.add(kernels::body::scaled(static_cast<double>(part), unit_exponent_));
    return static_cast<float>(sum.rounded(type_, divisor_));
  }

  ElementType type_;
  int unit_exponent_;
  std::uint64_t divisor_;
};

}  // namespace cohom
