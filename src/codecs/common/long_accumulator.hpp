#pragma once
// LongAccumulator: floating-point numbers added without any rounding, divided by a whole number,
// and rounded once.
//
// A long accumulator (Kulisch): the sum is a whole number of the least denormal of f64, in digits
// of 32 bits, each in 64, so that carries wait for the end. It is integer arithmetic: the order of
// additions and the processor's rounding mode do not matter.
//
// Its words add up one by one: a sum that is not rounded yet travels as the digits that numbers of
// a type reach, and two words of counts.

#include <cohom/element_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

class LongAccumulator {
 public:
  void clear();
  /// At most 2^30 numbers.
  void add(double value);

  /// The sum divided by `divisor` (> 0, below 2^32), to nearest, ties to even, as the nearest value
  /// of an element type, infinite where that is too large. IEEE's rules for infinities, NaNs (the
  /// canonical one) and zeros: -0 if all numbers were.
  [[nodiscard]] double rounded(ElementType type, std::uint64_t divisor) const;

  /// Words of a sum of numbers of a type.
  static std::size_t words(ElementType type);
  /// Writes the sum of numbers of this type, at most 2^30 of them in all that are added up.
  void store(ElementType type, std::span<std::uint64_t> words) const;
  /// In place of what was added before. @throws Error(transport) for words that are no sum.
  void load(ElementType type, std::span<const std::uint64_t> words);

 private:
  /// Up to the largest numbers of f64, and sums of 2^30 of them.
  static constexpr std::size_t digits = (2046 + 53 + 31) / 32 + 2;

  [[nodiscard]] double rounded_digits(ElementType type, std::uint64_t divisor) const;

  std::array<std::int64_t, digits> digits_{};
  std::size_t first_ = digits, end_ = 0;  ///< of the digits that are not zero
  /// Numbers that came: all that are not -0, plus and minus infinity, NaNs.
  std::uint32_t not_minus_zero_ = 0, infinite_[2] = {}, nan_ = 0;
  bool any_ = false;
};

}  // namespace cohom
