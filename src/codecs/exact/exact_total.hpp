#pragma once
// ExactTotal: what one rank added up of one element: an integer of least denormals, and what was no
// number. A source of numbers for what measures and encodes headers and payloads.

#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_streams.hpp"
#include "kernels/exact/body/exact_wide.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// What came among the numbers that were added.
struct ExactSeen {
  bool nan = false, infinite = false, minus_infinite = false;
  bool other = false;  ///< than -0
};

class ExactTotal {
 public:
  /// Nothing was added.
  explicit ExactTotal(const ExactSeen& seen) : seen_(seen) {}
  /// digits[0] counts 2^(32 first), the next one 2^32 times as much, and so on; each has a sign.
  /// `positions`: bits of the largest number of the type.
  ExactTotal(std::span<const std::int64_t> digits, unsigned first, const ExactSeen& seen,
             int positions);

  [[nodiscard]] bool minus_zero() const { return !seen_.other; }
  /// 1 + the position of the highest bit; 0: there is none, or not `finite`.
  [[nodiscard]] int high() const { return finite ? top_ : 0; }
  /// The position of the lowest bit; of a number that has a high() one.
  [[nodiscard]] int low() const;

  /// As an integer of the bits from `low` on; none is set below.
  [[nodiscard]] kernels::body::ExactInteger integer(unsigned low) const;
  [[nodiscard]] kernels::body::ExactValue value(unsigned low) const;

  bool finite = true;  ///< it fits the positions that the type's numbers have

 private:
  static constexpr std::size_t max_limbs = kernels::body::ExactValue::max_limbs;

  void take_few(std::span<const std::int64_t> digits);
  void take_many(std::span<const std::int64_t> digits);
  /// Calls visit(bits, position above `low`) for parts whose sum is the magnitude.
  template <class Visit>
  void for_each_part(unsigned low, Visit visit) const;

  ExactSeen seen_;
  bool negative_ = false;
  int top_ = 0;
  unsigned begin_ = 0;  ///< position of the first limb
  std::size_t count_ = 0;
  std::array<std::uint64_t, max_limbs> limbs_;  ///< the first `count_`, of the magnitude
};

inline ExactTotal::ExactTotal(std::span<const std::int64_t> digits, unsigned first,
                              const ExactSeen& seen, int positions)
    : seen_(seen), begin_(32 * first) {
  // Digits are below 2^63, so three of them are below 2^127.
  constexpr std::int64_t small = std::int64_t{1} << 30;
  if (digits.size() <= 3 || (digits.size() == 4 && digits[3] < small && digits[3] > -small))
    take_few(digits);
  else
    take_many(digits);
  while (count_ > 0 && limbs_[count_ - 1] == 0) --count_;
  if (count_ > 0)
    top_ = static_cast<int>(begin_ + 64 * count_) - std::countl_zero(limbs_[count_ - 1]);
  finite = !seen_.nan && !seen_.infinite && !seen_.minus_infinite && top_ <= positions;
}

inline void ExactTotal::take_few(std::span<const std::int64_t> digits) {
  kernels::body::ExactInteger sum;
  for (std::size_t i = digits.size(); i-- > 0;) {
    sum = {sum.low << 32, sum.high << 32 | sum.low >> 32};
    sum.add({static_cast<std::uint64_t>(digits[i]), digits[i] < 0 ? ~std::uint64_t{0} : 0});
  }
  negative_ = sum.is_negative();
  if (negative_) sum.negate();
  limbs_[0] = sum.low;
  limbs_[1] = sum.high;
  count_ = 2;
}

inline int ExactTotal::low() const {
  std::size_t i = 0;
  while (limbs_[i] == 0) ++i;
  return static_cast<int>(begin_ + 64 * i) + std::countr_zero(limbs_[i]);
}

template <class Visit>
void ExactTotal::for_each_part(unsigned low, Visit visit) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const auto position = static_cast<unsigned>(begin_ + 64 * i);
    if (position >= low)
      visit(limbs_[i], position - low);
    else if (low - position < 64)
      visit(limbs_[i] >> (low - position), 0u);
  }
}

inline kernels::body::ExactInteger ExactTotal::integer(unsigned low) const {
  kernels::body::ExactInteger integer;
  for_each_part(low, [&](std::uint64_t bits, unsigned position) {
    // Of what lies above, a header that ranks can have sent says that it is 0.
    if (position < 128) integer.add(kernels::body::ExactInteger::shifted(bits, position));
  });
  if (negative_) integer.negate();
  return integer;
}

/// A total as an integer of a mini-block's least bits.
inline kernels::body::ExactInteger exact_integer(const ExactTotal& total,
                                                 const kernels::body::ExactMini& mini) {
  return total.integer(mini.low);
}

}  // namespace cohom
