#include "reproducible/integer_digits.hpp"

#include <cmath>

namespace cohom::bench {
namespace {

constexpr unsigned integer_bits = 62;  ///< of a sum's digit, without sign

template <class T>
int exponent_of(T value) {
  int exponent = 0;
  (void)std::frexp(value, &exponent);
  return exponent;
}

}  // namespace

template <class T>
BitRange range_of(std::span<const T> values) {
  constexpr T none = std::numeric_limits<T>::infinity();
  T least = none, largest = 0;
  for (const T value : values) {
    const T magnitude = std::abs(value);
    largest = std::max(largest, magnitude);
    least = std::min(least, magnitude == 0 ? none : magnitude);
  }
  if (largest == 0) return {};
  constexpr int precision = std::numeric_limits<T>::digits;
  constexpr int lowest = std::numeric_limits<T>::min_exponent - precision;
  return {.lowest = std::max(exponent_of(least) - precision, lowest), .end = exponent_of(largest)};
}
template BitRange range_of(std::span<const float>);
template BitRange range_of(std::span<const double>);

IntegerDigits::IntegerDigits(const BitRange& range, std::size_t numbers)
    : lowest_(range.lowest),
      width_(integer_bits - static_cast<unsigned>(std::bit_width(numbers))),
      mask_((std::uint64_t{1} << width_) - 1),
      size_(range.end <= range.lowest
                ? 1
                : (static_cast<std::size_t>(range.end - range.lowest) + width_ - 1) / width_) {}

/// Lets all digits but the highest be in 0 ... 2^width - 1.
void IntegerDigits::carry(std::span<std::int64_t> digits) const {
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    const std::int64_t carried = digits[i] >> width_;
    digits[i] -= carried * (std::int64_t{1} << width_);
    digits[i + 1] += carried;
  }
}

double IntegerDigits::value(std::span<std::int64_t> digits) const {
  carry(digits);
  const bool negative = digits.back() < 0;
  if (negative) {
    for (std::int64_t& digit : digits) digit = -digit;
    carry(digits);
  }
  double sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int exponent = lowest_ + static_cast<int>(width_ * i);
    const auto rounded = static_cast<double>(digits[i]);
    const auto rest = static_cast<double>(digits[i] - static_cast<std::int64_t>(rounded));
    sum += std::ldexp(rest, exponent);
    sum += std::ldexp(rounded, exponent);
  }
  return negative ? -sum : sum;
}

}  // namespace cohom::bench
