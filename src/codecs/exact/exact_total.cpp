#include "codecs/exact/exact_total.hpp"

namespace cohom {

using kernels::body::ExactValue;

ExactValue ExactDigits::value(unsigned low) const {
  ExactValue value;
  const auto add = [&](std::uint64_t number, unsigned position) {
    if (position >= low)
      value.add(number, position - low);
    else if (low - position < 64)
      value.add(number >> (low - position), 0);
  };
  std::int64_t carry = 0;
  unsigned position = begin_;
  for (const std::int64_t digit : digits_) {
    const std::int64_t sum = digit + carry;
    add(static_cast<std::uint32_t>(sum), position);
    carry = sum >> 32;
    position += 32;
  }
  if (carry < 0) {
    value.negate();
    add(static_cast<std::uint64_t>(-carry), position);
    value.negate();
  } else {
    add(static_cast<std::uint64_t>(carry), position);
  }
  return value;
}

ExactValue ExactTotal::value(unsigned low) const {
  ExactValue value = digits_.value(low);
  value.nan = seen_.nan;
  value.infinite = seen_.infinite;
  value.minus_infinite = seen_.minus_infinite;
  value.minus_zero = minus_zero();
  return value;
}

}  // namespace cohom
