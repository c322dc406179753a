#include "long_sum.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace cohom::bench {
namespace {

constexpr int mantissa_bits = 52;
constexpr int least_exponent = -1074;  ///< of f64's least denormal
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Below the least limb that a sum has, quotients go on for so many: with two of them a quotient
/// that is not zero has more bits than a result, whatever the divisor.
constexpr std::size_t fraction_limbs = 2;

struct TypeFormat {
  int precision;         ///< significant bits
  int least_exponent;    ///< of the least denormal
  int largest_exponent;  ///< of the largest number
};

TypeFormat format_of(ElementType type) {
  switch (type) {
    case ElementType::f16: return {11, -24, 15};
    case ElementType::bf16: return {8, -133, 127};
    case ElementType::f32: return {24, -149, 127};
    case ElementType::f64: break;
  }
  return {53, -1074, 1023};
}

/// A long whole number of 2^exponent, its lowest limb first; more than that if `inexact`.
struct LongNumber {
  std::array<std::uint64_t, fraction_limbs + LongSum::limbs> limbs{};
  std::size_t size = 0;
  int exponent = 0;
  bool inexact = false;

  /// Of the highest bit that is set; nothing is if it is -1.
  [[nodiscard]] int highest_bit() const {
    for (std::size_t i = size; i-- > 0;)
      if (limbs[i] != 0) return static_cast<int>(64 * i) + 63 - std::countl_zero(limbs[i]);
    return -1;
  }
  [[nodiscard]] bool bit(int place) const {
    return (limbs[static_cast<std::size_t>(place) / 64] >> place % 64 & 1) != 0;
  }
  /// Whether there is anything below.
  [[nodiscard]] bool any_below(int place) const {
    const std::size_t whole = static_cast<std::size_t>(place) / 64;
    return inexact ||
           std::ranges::any_of(std::span(limbs).first(whole),
                               [](std::uint64_t limb) { return limb != 0; }) ||
           (limbs[whole] & ((std::uint64_t{1} << place % 64) - 1)) != 0;
  }
  /// The bits from `place` on, of which there are at most 64.
  [[nodiscard]] std::uint64_t bits_from(int place) const {
    const std::size_t limb = static_cast<std::size_t>(place) / 64;
    const int shift = place % 64;
    const std::uint64_t low = limbs[limb] >> shift;
    return shift == 0 || limb + 1 == size ? low : low | limbs[limb + 1] << (64 - shift);
  }
};

void divide(LongNumber& number, std::uint64_t divisor) {
  using Wide = unsigned __int128;
  if (divisor == 1) return;
  std::uint64_t rest = 0;
  for (std::size_t i = number.size; i-- > 0;) {
    const Wide dividend = Wide{rest} << 64 | number.limbs[i];
    number.limbs[i] = static_cast<std::uint64_t>(dividend / divisor);
    rest = static_cast<std::uint64_t>(dividend % divisor);
  }
  number.inexact = rest != 0;
}

/// The nearest value of a type. `number` is not zero.
double nearest(const LongNumber& number, const TypeFormat& format) {
  const int highest = number.highest_bit();
  // Of the last bit that the result has.
  const int last =
      std::max(highest - format.precision + 1, format.least_exponent - number.exponent);
  if (last > highest + 1) return 0;
  std::uint64_t kept = last > highest ? 0 : number.bits_from(last);
  if (last > 0 && number.bit(last - 1) && (kept % 2 == 1 || number.any_below(last - 1))) ++kept;
  const double value = std::ldexp(static_cast<double>(kept), number.exponent + last);
  return value >= 2 * std::ldexp(1.0, format.largest_exponent) ? infinity : value;
}

/// Adds to two limbs, and carries.
void add_at(std::span<std::uint64_t> limbs, std::uint64_t low, std::uint64_t high) {
  limbs[0] += low;
  high += limbs[0] < low ? 1 : 0;
  limbs[1] += high;
  bool carry = limbs[1] < high;
  for (std::size_t i = 2; carry; ++i) carry = ++limbs[i] == 0;
}

}  // namespace

void LongSum::clear() { *this = {}; }

void LongSum::add(double value) {
  any_ = true;
  only_minus_zeros_ = only_minus_zeros_ && value == 0 && std::signbit(value);
  nan_ = nan_ || std::isnan(value);
  if (std::isinf(value)) infinite_[std::signbit(value) ? 1 : 0] = true;
  if (!std::isfinite(value) || value == 0) return;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t exponent = bits >> mantissa_bits & 0x7ff;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
  const std::uint64_t whole =
      exponent == 0 ? fraction : fraction | std::uint64_t{1} << mantissa_bits;
  const std::uint64_t place = exponent == 0 ? 0 : exponent - 1;
  const std::size_t limb = place / 64;
  const unsigned shift = place % 64;
  add_at(std::span(std::signbit(value) ? subtracted_ : added_).subspan(limb), whole << shift,
         shift == 0 ? 0 : whole >> (64 - shift));
  first_ = std::min(first_, limb);
  end_ = std::max(end_, std::min(limb + 3, limbs));
}

void LongSum::put_magnitude(bool negative, std::uint64_t* limbs) const {
  const Magnitude& larger = negative ? subtracted_ : added_;
  const Magnitude& smaller = negative ? added_ : subtracted_;
  bool borrow = false;
  for (std::size_t i = first_; i < end_; ++i) {
    limbs[i - first_] = larger[i] - smaller[i] - (borrow ? 1 : 0);
    borrow = larger[i] < smaller[i] || (borrow && larger[i] == smaller[i]);
  }
}

double LongSum::rounded(ElementType type, std::uint64_t divisor) const {
  if (nan_ || (infinite_[0] && infinite_[1])) return std::numeric_limits<double>::quiet_NaN();
  if (infinite_[0] || infinite_[1]) return infinite_[0] ? infinity : -infinity;
  const bool negative = is_negative();
  LongNumber number;
  put_magnitude(negative, &number.limbs[fraction_limbs]);
  number.size = fraction_limbs + end_ - std::min(first_, end_);
  if (number.highest_bit() < 0) return any_ && only_minus_zeros_ ? -0.0 : 0.0;
  number.exponent =
      least_exponent + 64 * (static_cast<int>(first_) - static_cast<int>(fraction_limbs));
  divide(number, divisor);
  const double value = nearest(number, format_of(type));
  return negative ? -value : value;
}

bool LongSum::is_negative() const {
  for (std::size_t i = end_; i-- > first_;)
    if (added_[i] != subtracted_[i]) return added_[i] < subtracted_[i];
  return false;
}

}  // namespace cohom::bench
