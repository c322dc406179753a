#pragma once
// LongSum: numbers added without any rounding, divided by a whole number, and rounded once.
//
// What was added and what was subtracted are whole numbers of f64's least denormal, of so many bits
// that they hold any sum. The library has such a sum too. The benchmark judges the library and
// therefore does not borrow it; a test compares the two.

#include <cohom/element_type.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cohom::bench {

class LongSum {
 public:
  void clear();
  /// At most 2^32 numbers.
  void add(double value);

  /// The sum divided by `divisor` (> 0): the nearest value of `type`, ties to even, infinite where
  /// that is too large. Infinities, NaNs and the sign of zero are IEEE's: an exact sum is -0 if all
  /// numbers were.
  [[nodiscard]] double rounded(ElementType type, std::uint64_t divisor = 1) const;

  /// Of 64 bits: up to f64's largest numbers, and sums of 2^32 of them.
  static constexpr std::size_t limbs = (2046 + 53 + 32 + 63) / 64;

 private:
  using Magnitude = std::array<std::uint64_t, limbs>;

  [[nodiscard]] bool is_negative() const;
  /// What was added less what was subtracted, or the other way round: limbs [first_, end_).
  void put_magnitude(bool negative, std::uint64_t* limbs) const;

  Magnitude added_{}, subtracted_{};
  std::size_t first_ = limbs, end_ = 0;  ///< of the limbs that are not zero
  bool any_ = false;                     ///< a number came
  bool only_minus_zeros_ = true;
  bool infinite_[2] = {};  ///< plus, minus
  bool nan_ = false;
};

/// Whether `found` is what was expected, to the bit. All NaNs are alike.
inline bool same_number(double expected, double found) {
  return std::bit_cast<std::uint64_t>(expected) == std::bit_cast<std::uint64_t>(found) ||
         (std::isnan(expected) && std::isnan(found));
}

}  // namespace cohom::bench
