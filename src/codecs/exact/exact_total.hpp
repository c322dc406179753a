#pragma once
// ExactTotal: what one rank added up of one element: an integer of least denormals, and what was no
// number. A source of numbers for what measures and encodes headers and payloads.

#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_streams.hpp"
#include "kernels/exact/body/exact_wide.hpp"

#include <algorithm>
#include <array>
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
  /// Of 32 bits: the positions of 2^32 of the largest numbers, and where carries are settled.
  static constexpr std::size_t max_digits = 72;

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
  /// Calls visit(bits, position above `low`) for parts whose sum is the magnitude.
  template <class Visit>
  void for_each_part(unsigned low, Visit visit) const;

  ExactSeen seen_;
  bool negative_ = false;
  int top_ = 0;
  unsigned first_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint32_t, max_digits> digits_;  ///< the first `count_`, of the magnitude
};

/// A total as an integer of a mini-block's least bits.
inline kernels::body::ExactInteger exact_integer(const ExactTotal& total,
                                                 const kernels::body::ExactMini& mini) {
  return total.integer(mini.low);
}

}  // namespace cohom
