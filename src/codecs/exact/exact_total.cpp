#include "codecs/exact/exact_total.hpp"

namespace cohom {

using kernels::body::ExactValue;

void ExactTotal::take_many(std::span<const std::int64_t> digits) {
  // Two digits make a limb; above the last there are those of the carry.
  std::int64_t carry = 0;
  const auto next = [&](std::size_t i) -> std::uint64_t {
    const std::int64_t sum = (i < digits.size() ? digits[i] : 0) + carry;
    carry = sum >> 32;
    return static_cast<std::uint32_t>(sum);
  };
  for (std::size_t i = 0; i < digits.size() + 2; i += 2) {
    const std::uint64_t low = next(i);
    limbs_[count_++] = low | next(i + 1) << 32;
  }
  negative_ = carry < 0;
  if (!negative_) return;
  bool one = true;  // two's complement
  for (std::size_t i = 0; i < count_; ++i) {
    limbs_[i] = ~limbs_[i] + (one ? 1 : 0);
    one = one && limbs_[i] == 0;
  }
}

ExactValue ExactTotal::value(unsigned low) const {
  ExactValue value;
  value.nan = seen_.nan;
  value.infinite = seen_.infinite;
  value.minus_infinite = seen_.minus_infinite;
  value.minus_zero = minus_zero();
  for_each_part(low, [&](std::uint64_t bits, unsigned position) { value.add(bits, position); });
  if (negative_) value.negate();
  return value;
}

}  // namespace cohom
