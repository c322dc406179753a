#include "codecs/common/long_accumulator.hpp"

#include "kernels/core/body/float_bits.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace cohom {
namespace {

using kernels::body::bits_of;
using kernels::body::from_bits;
using Format = kernels::body::FloatFormat<double>;

/// Exponent of the least denormal, which digits count in.
constexpr int unit_exponent = 1 - Format::bias - Format::mantissa_bits;

/// Of a quotient that is less than a unit, so many digits are enough for any divisor.
constexpr std::ptrdiff_t digits_below_units = 4;

/// Of a sum of 2^30 numbers.
constexpr std::int64_t max_digit = std::int64_t{1} << 62;

struct TypeFormat {
  int precision = 0;         ///< significant bits
  int min_exponent = 0;      ///< of the least denormal
  int largest_exponent = 0;  ///< of the largest number
};

TypeFormat format_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return {53, -1074, 1023};
    case ElementType::f32: return {24, -149, 127};
    case ElementType::f16: return {11, -24, 15};
    case ElementType::bf16: return {8, -133, 127};
  }
  return {};
}

/// Digits that numbers of a type reach.
struct DigitRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

DigitRange digits_of(ElementType type) {
  const TypeFormat format = format_of(type);
  const auto first = static_cast<std::size_t>(format.min_exponent - unit_exponent) / 32;
  return {first,
          static_cast<std::size_t>(format.largest_exponent - unit_exponent) / 32 + 1 - first};
}

constexpr std::size_t count_words = 2;

std::uint64_t both(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

/// More digits than were added to: they hold the carries.
constexpr std::size_t carry_digits = 2;

/// Writes the magnitude, in digits of 0 ... 2^32 - 1; `to` has carry_digits more. Returns whether
/// the number is negative.
bool carry_over(std::span<const std::int64_t> from, std::span<std::int64_t> to) {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t sum = (i < from.size() ? from[i] : 0) + carry;
    carry = sum >> 32;
    to[i] = sum - carry * (std::int64_t{1} << 32);
  }
  if (carry >= 0) return false;
  std::int64_t borrow = 1;  // two's complement
  for (std::int64_t& digit : to) {
    const std::int64_t sum = (0xffff'ffff - digit) + borrow;
    borrow = sum >> 32;
    digit = sum & 0xffff'ffff;
  }
  return true;
}

/// The upper digits of a quotient, from the first one that is not zero on.
struct Quotient {
  std::array<std::uint64_t, 4> digits{};
  std::size_t count = 0;
  std::ptrdiff_t highest = 0;  ///< place of the first
  bool more = false;           ///< it has more than these digits

  void append(std::uint64_t digit, std::ptrdiff_t place) {
    if (count == 0 && digit == 0) return;
    if (count == 0) highest = place;
    digits[count++] = digit;
  }
};

/// Long division, the highest digit first. `first`: the place of the lowest digit.
Quotient divide(std::span<const std::int64_t> dividend, std::ptrdiff_t first,
                std::uint64_t divisor) {
  Quotient quotient;
  const auto digit_at = [&](std::ptrdiff_t place) {
    return place < first ? 0 : static_cast<std::uint64_t>(dividend[std::size_t(place - first)]);
  };
  std::uint64_t rest = 0;
  std::ptrdiff_t place = first + static_cast<std::ptrdiff_t>(dividend.size());
  while (quotient.count < quotient.digits.size() && place > -digits_below_units &&
         (place > first || rest != 0)) {
    --place;
    const std::uint64_t part = rest << 32 | digit_at(place);
    quotient.append(part / divisor, place);
    rest = part % divisor;
  }
  quotient.more = rest != 0;
  while (place > first) quotient.more |= digit_at(--place) != 0;
  return quotient;
}

/// The highest 64 bits of a number, the last of which says whether anything follows.
struct HighestBits {
  std::uint64_t bits = 0;
  int exponent = 0;  ///< of the lowest one
};

HighestBits highest_bits_of(const Quotient& quotient) {
  const auto& digits = quotient.digits;
  const unsigned leading = static_cast<unsigned>(std::countl_zero(digits[0])) - 32;
  const std::uint64_t upper = digits[0] << 32 | digits[1];
  const std::uint64_t lower = digits[2] << 32 | digits[3];
  const std::uint64_t bits = leading == 0 ? upper : upper << leading | lower >> (64 - leading);
  const bool more = quotient.more || (lower << leading) != 0;
  return {bits | (more ? 1 : 0), unit_exponent + 32 * (static_cast<int>(quotient.highest) - 1) -
                                     static_cast<int>(leading)};
}

/// To nearest, ties to even.
double round_to(const HighestBits& number, const TypeFormat& format) {
  const int last = std::max(number.exponent + 64 - format.precision, format.min_exponent);
  const int dropped = last - number.exponent;
  std::uint64_t kept = dropped >= 64 ? 0 : number.bits >> dropped;
  if (dropped <= 64) {
    const bool half = (number.bits >> (dropped - 1) & 1) != 0;
    const bool below = (number.bits & ((std::uint64_t{1} << (dropped - 1)) - 1)) != 0;
    if (half && (below || kept % 2 == 1)) ++kept;
  }
  const double value = std::ldexp(static_cast<double>(kept), last);
  return value >= std::ldexp(1.0, format.largest_exponent) * 2
             ? std::numeric_limits<double>::infinity()
             : value;
}

}  // namespace

std::size_t LongAccumulator::words(ElementType type) { return count_words + digits_of(type).count; }

void LongAccumulator::store(ElementType type, std::span<std::uint64_t> words) const {
  const DigitRange range = digits_of(type);
  words[0] = both(not_minus_zero_, nan_);
  words[1] = both(infinite_[0], infinite_[1]);
  for (std::size_t i = 0; i < range.count; ++i)
    words[count_words + i] = static_cast<std::uint64_t>(digits_[range.first + i]);
}

void LongAccumulator::load(ElementType type, std::span<const std::uint64_t> words) {
  clear();
  const DigitRange range = digits_of(type);
  any_ = true;
  not_minus_zero_ = static_cast<std::uint32_t>(words[0]);
  nan_ = static_cast<std::uint32_t>(words[0] >> 32);
  infinite_[0] = static_cast<std::uint32_t>(words[1]);
  infinite_[1] = static_cast<std::uint32_t>(words[1] >> 32);
  first_ = range.first;
  end_ = range.first + range.count;
  for (std::size_t i = 0; i < range.count; ++i) {
    const auto digit = static_cast<std::int64_t>(words[count_words + i]);
    if (digit > max_digit || digit < -max_digit)
      throw Error(ErrorKind::transport, "a digit of an exact sum is " + std::to_string(digit) +
                                            ": words were changed on their way");
    digits_[range.first + i] = digit;
  }
}

void LongAccumulator::clear() {
  std::fill(digits_.begin() + std::ptrdiff_t(std::min(first_, end_)),
            digits_.begin() + std::ptrdiff_t(end_), 0);
  first_ = digits;
  end_ = 0;
  any_ = false;
  not_minus_zero_ = nan_ = infinite_[0] = infinite_[1] = 0;
}

void LongAccumulator::add(double value) {
  const std::uint64_t bits = bits_of(value);
  const std::uint64_t magnitude = bits & Format::magnitude_mask;
  const bool negative = bits != magnitude;
  any_ = true;
  not_minus_zero_ += negative && magnitude == 0 ? 0 : 1;
  if (magnitude >= Format::infinity) {
    ++(magnitude == Format::infinity ? infinite_[negative ? 1 : 0] : nan_);
    return;
  }
  if (magnitude == 0) return;
  const std::uint64_t exponent = magnitude >> Format::mantissa_bits;
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << Format::mantissa_bits) - 1);
  const std::uint64_t whole =
      exponent == 0 ? fraction : fraction | std::uint64_t{1} << Format::mantissa_bits;
  const std::uint64_t place = exponent == 0 ? 0 : exponent - 1;
  // 53 bits, shifted by up to 31, are three digits.
  const std::size_t digit = place / 32;
  const unsigned shift = place % 32;
  const std::uint64_t low = whole << shift;
  const std::uint64_t high = shift == 0 ? 0 : whole >> (64 - shift);
  const std::int64_t parts[3] = {static_cast<std::int64_t>(low & 0xffff'ffffu),
                                 static_cast<std::int64_t>(low >> 32),
                                 static_cast<std::int64_t>(high)};
  for (std::size_t i = 0; i < 3; ++i) digits_[digit + i] += negative ? -parts[i] : parts[i];
  first_ = std::min(first_, digit);
  end_ = std::max(end_, digit + 3);
}

double LongAccumulator::rounded(ElementType type, std::uint64_t divisor) const {
  if (nan_ != 0 || (infinite_[0] != 0 && infinite_[1] != 0))
    return from_bits<double>(Format::canonical_nan);
  if (infinite_[0] != 0) return std::numeric_limits<double>::infinity();
  if (infinite_[1] != 0) return -std::numeric_limits<double>::infinity();
  if (any_ && not_minus_zero_ == 0) return -0.0;
  return rounded_digits(type, divisor);
}

double LongAccumulator::rounded_digits(ElementType type, std::uint64_t divisor) const {
  if (first_ >= end_) return 0;
  std::array<std::int64_t, digits + carry_digits> buffer{};
  const auto carried = std::span(buffer).first(end_ - first_ + carry_digits);
  const bool negative = carry_over(std::span(digits_).subspan(first_, end_ - first_), carried);
  const Quotient quotient = divide(carried, static_cast<std::ptrdiff_t>(first_), divisor);
  if (quotient.count == 0) return quotient.more && negative ? -0.0 : 0.0;
  const double value = round_to(highest_bits_of(quotient), format_of(type));
  return negative ? -value : value;
}

}  // namespace cohom
