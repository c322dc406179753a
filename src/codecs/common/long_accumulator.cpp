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
  // Carries, so that all digits but the highest are in 0 ... 2^32 - 1; two more than were written
  // hold them.
  std::array<std::int64_t, digits + 2> carried{};
  const std::size_t end = end_ + 2;
  std::int64_t carry = 0;
  for (std::size_t i = first_; i < end; ++i) {
    const std::int64_t sum = (i < end_ ? digits_[i] : 0) + carry;
    carry = sum >> 32;
    carried[i] = sum - carry * (std::int64_t{1} << 32);
  }
  const bool negative = carry < 0;
  if (negative) {  // two's complement
    std::int64_t borrow = 1;
    for (std::size_t i = first_; i < end; ++i) {
      const std::int64_t digit = (0xffff'ffff - carried[i]) + borrow;
      borrow = digit >> 32;
      carried[i] = digit & 0xffff'ffff;
    }
  }
  // Long division, the highest digit first, into the upper digits of the quotient. What is left
  // behind them only counts as more than nothing.
  std::uint64_t window[4] = {};  // digits of the quotient from its first one that is not zero on
  std::size_t filled = 0;
  std::ptrdiff_t highest = 0;  ///< place of the first
  std::uint64_t rest = 0;
  bool more = false;
  const auto take = [&](std::uint64_t digit, std::ptrdiff_t at) {
    const std::uint64_t dividend = rest << 32 | digit;
    const std::uint64_t quotient = dividend / divisor;
    rest = dividend % divisor;
    if (filled == 0 && quotient == 0) return;
    if (filled == 0) highest = at;
    window[filled++] = quotient;
  };
  const auto first = static_cast<std::ptrdiff_t>(first_);
  auto place = static_cast<std::ptrdiff_t>(end);
  while (filled < 4 && place > -digits_below_units && (place > first || rest != 0)) {
    --place;
    take(place >= first ? static_cast<std::uint64_t>(carried[std::size_t(place)]) : 0, place);
  }
  while (place > first) more |= carried[std::size_t(--place)] != 0;
  if (filled == 0) return rest != 0 && negative ? -0.0 : 0.0;
  while (filled < 4) window[filled++] = 0;
  more |= rest != 0;

  // The highest 64 bits, the last of which says whether anything follows.
  const unsigned leading = static_cast<unsigned>(std::countl_zero(window[0])) - 32;
  const std::uint64_t upper = window[0] << 32 | window[1];
  const std::uint64_t lower = window[2] << 32 | window[3];
  std::uint64_t top = leading == 0 ? upper : upper << leading | lower >> (64 - leading);
  more |= (lower << leading) != 0;
  top |= more ? 1 : 0;
  // Of its lowest bit.
  const int exponent =
      unit_exponent + 32 * (static_cast<int>(highest) - 1) - static_cast<int>(leading);

  const TypeFormat format = format_of(type);
  const int last = std::max(exponent + 64 - format.precision, format.min_exponent);
  const int dropped = last - exponent;
  std::uint64_t kept = dropped >= 64 ? 0 : top >> dropped;
  if (dropped <= 64) {
    const bool half = (top >> (dropped - 1) & 1) != 0;
    const bool below = (top & ((std::uint64_t{1} << (dropped - 1)) - 1)) != 0;
    if (half && (below || kept % 2 == 1)) ++kept;
  }
  double value = std::ldexp(static_cast<double>(kept), last);
  if (value >= std::ldexp(1.0, format.largest_exponent) * 2)
    value = std::numeric_limits<double>::infinity();
  return negative ? -value : value;
}

}  // namespace cohom
