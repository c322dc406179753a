#include "codecs/exact/exact_total.hpp"

#include <bit>

namespace cohom {

using kernels::body::ExactInteger;
using kernels::body::ExactValue;

ExactTotal::ExactTotal(std::span<const std::int64_t> digits, unsigned first, const ExactSeen& seen,
                       int positions)
    : seen_(seen), first_(first) {
  std::int64_t carry = 0;
  for (const std::int64_t digit : digits) {
    const std::int64_t sum = digit + carry;
    digits_[count_++] = static_cast<std::uint32_t>(sum);
    carry = sum >> 32;
  }
  negative_ = carry < 0;
  digits_[count_++] = static_cast<std::uint32_t>(carry);
  digits_[count_++] = static_cast<std::uint32_t>(carry >> 32);
  if (negative_) {  // two's complement
    std::uint64_t one = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      one += static_cast<std::uint32_t>(~digits_[i]);
      digits_[i] = static_cast<std::uint32_t>(one);
      one >>= 32;
    }
  }
  while (count_ > 0 && digits_[count_ - 1] == 0) --count_;
  if (count_ > 0)
    top_ = static_cast<int>(32 * (first_ + count_) -
                            static_cast<unsigned>(std::countl_zero(digits_[count_ - 1])));
  finite = !seen_.nan && !seen_.infinite && !seen_.minus_infinite && top_ <= positions;
}

int ExactTotal::low() const {
  std::size_t i = 0;
  while (digits_[i] == 0) ++i;
  return static_cast<int>(32 * (first_ + i)) + std::countr_zero(digits_[i]);
}

template <class Visit>
void ExactTotal::for_each_part(unsigned low, Visit visit) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint64_t digit = digits_[i];
    const auto position = static_cast<unsigned>(32 * (first_ + i));
    if (position >= low)
      visit(digit, position - low);
    else if (low - position < 32)
      visit(digit >> (low - position), 0u);
  }
}

ExactInteger ExactTotal::integer(unsigned low) const {
  ExactInteger integer;
  for_each_part(low, [&](std::uint64_t bits, unsigned position) {
    // Of what lies above, a header that ranks can have sent says that it is 0.
    if (position < 128) integer.add(ExactInteger::shifted(bits, position));
  });
  if (negative_) integer.negate();
  return integer;
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
