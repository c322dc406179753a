#pragma once
// BinnedSum: a sum that has the same bits in any order, in six numbers.
//
// The idea of ReproBLAS (J. Demmel and H. D. Nguyen, IEEE Trans. Computers, 2015; P. Ahrens,
// J. Demmel and H. D. Nguyen, ACM Trans. Math. Softw., 2020): bins of W bits lie at places that are
// the same for all sums. A number is cut at their ends, and the three highest bins that any number
// has reached are kept. Each is a floating-point number whose exponent never changes, so that
// additions to it round at the bin's end, and a count of its carries.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cohom::bench {

/// float or double.
template <class T>
class BinnedSum {
 public:
  static constexpr std::size_t fold = 3;

  /// Adds a number below limit() in magnitude. Bits below its three bins are lost, as are all below
  /// the lowest bin, which ends at twice the least normal number.
  void add(T value) {
    if (std::abs(value) >= capacity()) {
      if (value == 0) return;
      raise_to(bin_for(value));
    }
    for (std::size_t k = 0; k + 1 < fold; ++k) {
      const T before = primary_[k];
      primary_[k] += off_the_middle(value);
      value -= primary_[k] - before;
    }
    primary_[fold - 1] += off_the_middle(value);
    carry();
  }

  /// Adds a sum: the bits are those of all numbers added to one of the two.
  void add(const BinnedSum& other);

  [[nodiscard]] T value() const;

  [[nodiscard]] static T limit();

 private:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int precision = std::numeric_limits<T>::digits;
  static constexpr int width = sizeof(T) == 4 ? 13 : 40;  ///< as in ReproBLAS
  static constexpr int lowest_exponent = std::numeric_limits<T>::min_exponent - 1 + precision;
  static constexpr int highest_bin =
      (std::numeric_limits<T>::max_exponent - 1 - lowest_exponent) / width;

  /// Of the numbers of a bin.
  static constexpr int exponent_of(int bin) { return lowest_exponent + bin * width; }
  /// The lowest bin that can be the highest one of a sum with the number: the next one rounds it to
  /// nothing, so that a sum that has the next one takes the number as if it had not.
  static int bin_for(T value);
  static T neutral(int bin);
  static constexpr T power_of_two(int exponent) {
    return std::bit_cast<T>(static_cast<Bits>(exponent + std::numeric_limits<T>::max_exponent - 1)
                            << (precision - 1));
  }

  /// The number with its last bit set: it lies in the middle of no two numbers of a bin, where the
  /// sum would decide on which of them it is rounded to.
  static T off_the_middle(T value) {
    return std::bit_cast<T>(std::bit_cast<Bits>(value) | Bits{1});
  }

  [[nodiscard]] bool empty() const { return primary_[0] == 0; }
  [[nodiscard]] int highest() const;
  /// 2^e of the highest bin; 0 if there is none.
  [[nodiscard]] T scale() const {
    constexpr Bits mantissa = (Bits{1} << (precision - 1)) - 1;
    return std::bit_cast<T>(std::bit_cast<Bits>(primary_[0]) & ~mantissa);
  }
  /// What the highest bin's numbers must be below.
  [[nodiscard]] T capacity() const { return scale() * power_of_two(width - precision); }
  void raise_to(int bin);

  /// After a number or a sum, of which a bin has less than a quarter of 2^e.
  void carry() {
    T one = scale();
    for (std::size_t k = 0; k < fold; ++k, one *= power_of_two(-width)) {
      const T quarters = T(primary_[k] >= one * T{1.75}) - T(primary_[k] < one * T{1.5});
      primary_[k] -= quarters * (one / 4);
      carry_[k] += quarters;
    }
  }

  // Bin k has primary_[k] in [1.5, 1.75) 2^e, of which 1.5 2^e stand for nothing, and carry_[k]
  // quarters of 2^e. All are zero before the first number.
  std::array<T, fold> primary_{}, carry_{};
};

}  // namespace cohom::bench
