#pragma once
// FixedPoint: floating-point numbers as 64-bit integers of one exponent, whose sums are exact.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"

#include <cstdint>

namespace cohom::kernels::body {

class FixedPoint {
 public:
  FixedPoint() = default;

  /// For sums of `ranks` numbers below 2^(exponent + 1) in magnitude. Numbers of 24 significant
  /// bits are held exactly from 2^(exponent - 39 + ceil(log2 ranks)) on.
  COHOM_HD FixedPoint(int exponent, std::uint32_t ranks)
      : shift_(62 - static_cast<int>(bit_width(ranks - 1)) - exponent) {}

  /// Whether `value` (of magnitude below the bound, no NaN) is held exactly.
  [[nodiscard]] COHOM_HD bool holds(double value) const {
    const double whole = scaled(value, shift_);
    return static_cast<double>(static_cast<std::int64_t>(whole)) == whole;
  }

  /// Integers are in two's complement: sums of more terms than fit come right again when these are
  /// taken away.
  [[nodiscard]] COHOM_HD std::uint64_t integer(double value) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(scaled(value, shift_)));
  }

  /// The number rounded once, to nearest even.
  [[nodiscard]] COHOM_HD float number(std::uint64_t integer) const {
    const auto rounded = static_cast<float>(static_cast<std::int64_t>(integer));
    return static_cast<float>(scaled(rounded, -shift_));
  }

  /// The number rounded to odd: what is lost shows in the last of 24 bits, so that rounding to
  /// fewer than 23 is the only rounding (Boldo and Melquiond, 2008).
  [[nodiscard]] COHOM_HD float number_to_odd(std::uint64_t integer) const {
    const bool negative = static_cast<std::int64_t>(integer) < 0;
    const std::uint64_t magnitude = negative ? 0 - integer : integer;
    const unsigned width = bit_width(magnitude);
    const unsigned surplus = width > 24 ? width - 24 : 0;
    std::uint64_t kept = magnitude >> surplus;
    if (kept << surplus != magnitude) kept |= 1;
    const auto rounded = static_cast<double>(kept << surplus);
    return static_cast<float>(scaled(negative ? -rounded : rounded, -shift_));
  }

 private:
  int shift_ = 0;
};

}  // namespace cohom::kernels::body
