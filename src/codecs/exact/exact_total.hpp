#pragma once
// ExactTotal: what one rank added up of one element: an integer of least denormals, and what was no
// number. It can be encoded as an element can.

#include "kernels/exact/body/exact_header.hpp"
#include "kernels/exact/body/exact_streams.hpp"
#include "kernels/exact/body/exact_wide.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// What came among the numbers that were added.
struct ExactSeen {
  bool nan = false, infinite = false, minus_infinite = false;
  bool other = false;  ///< than -0
};

/// A sum in digits of 32 bits, the least first, each of which has a sign and carries that wait.
class ExactDigits {
 public:
  ExactDigits() = default;
  /// digits[0] counts 2^(32 first).
  ExactDigits(std::span<const std::int64_t> digits, unsigned first)
      : digits_(digits), begin_(32 * first) {}

  /// Position of the least digit's bit 0.
  [[nodiscard]] unsigned begin() const { return begin_; }
  /// Whether integer() holds the sum: digits are below 2^62.
  [[nodiscard]] bool are_few() const {
    constexpr std::int64_t small = std::int64_t{1} << 29;
    const std::size_t count = digits_.size();
    return count <= 3 || (count == 4 && digits_[3] < small && digits_[3] > -small);
  }
  /// From begin() on.
  [[nodiscard]] kernels::body::ExactInteger integer() const;
  /// From the bit at `low` on: none is set below.
  [[nodiscard]] kernels::body::ExactValue value(unsigned low) const;

 private:
  std::span<const std::int64_t> digits_;
  unsigned begin_ = 0;
};

inline kernels::body::ExactInteger ExactDigits::integer() const {
  const auto bits = [&](std::size_t i) { return static_cast<std::uint64_t>(digits_[i]); };
  const auto above = [&](std::size_t i, int by) {
    return static_cast<std::uint64_t>(digits_[i] >> by);
  };
  kernels::body::ExactInteger sum;
  if (!digits_.empty()) sum = {bits(0), above(0, 63)};
  if (digits_.size() > 1) sum.add({bits(1) << 32, above(1, 32)});
  if (digits_.size() > 2) sum.high += bits(2);
  if (digits_.size() > 3) sum.high += bits(3) << 32;
  return sum;
}

class ExactTotal {
 public:
  explicit ExactTotal(const ExactSeen& seen, const ExactDigits& digits = {})
      : seen_(seen), digits_(digits) {}

  [[nodiscard]] bool minus_zero() const { return !seen_.other; }
  /// As an integer of the bits from `low` on; none is set below.
  [[nodiscard]] kernels::body::ExactInteger integer(unsigned low) const;
  [[nodiscard]] kernels::body::ExactValue value(unsigned low) const;

 private:
  ExactSeen seen_;
  ExactDigits digits_;
};

inline kernels::body::ExactInteger ExactTotal::integer(unsigned low) const {
  using kernels::body::ExactInteger;
  if (!digits_.are_few()) {
    const kernels::body::ExactValue all = value(low);
    return {all.limbs[0], all.limbs[1]};
  }
  const ExactInteger sum = digits_.integer();
  const unsigned begin = digits_.begin();
  if (begin >= low) {
    // Of what lies higher, a header that ranks can have sent says that it is 0.
    const unsigned by = begin - low;
    if (by >= 128) return {};
    ExactInteger shifted = ExactInteger::shifted(sum.low, by);
    if (by < 64) shifted.high |= sum.high << by;
    return shifted;
  }
  const unsigned by = low - begin;
  const auto high = static_cast<std::int64_t>(sum.high);
  const auto sign = static_cast<std::uint64_t>(high >> 63);
  if (by >= 128) return {sign, sign};
  if (by >= 64) return {static_cast<std::uint64_t>(high >> (by - 64)), sign};
  return {sum.low >> by | sum.high << (64 - by), static_cast<std::uint64_t>(high >> by)};
}

/// A total as an integer of a mini-block's least bits.
inline kernels::body::ExactInteger exact_integer(const ExactTotal& total,
                                                 const kernels::body::ExactMini& mini) {
  return total.integer(mini.low);
}

}  // namespace cohom
