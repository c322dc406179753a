#pragma once
// Fields of any number of bits, an element at a time: what does not fit the payload's streams. They
// are rare, or few, so the processor reads and writes them.

#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"
#include "kernels/exact/body/exact_rounding.hpp"
#include "kernels/exact/body/exact_streams.hpp"
#include "kernels/exact/exact.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// Bits above those of the largest number, for ranks that contribute the sum of many vectors.
inline constexpr unsigned exact_vectors_bits = 32;

/// An element as an integer of many bits, least limb first, and what is no number in it.
struct ExactValue {
  static constexpr std::size_t max_limbs = 36;
  std::uint64_t limbs[max_limbs] = {};  ///< two's complement
  bool nan = false, infinite = false, minus_infinite = false, minus_zero = false;

  void negate() {
    bool carry = true;
    for (std::uint64_t& limb : limbs) {
      limb = ~limb + (carry ? 1 : 0);
      carry = carry && limb == 0;
    }
  }
  /// Adds number * 2^position.
  void add(std::uint64_t number, unsigned position) {
    const unsigned shift = position % 64;
    std::size_t at = position / 64;
    bool carry = add_limb(at, number << shift);
    carry = add_limb(++at, (shift == 0 ? 0 : number >> (64 - shift)) + (carry ? 1 : 0));
    while (carry && ++at < max_limbs) carry = add_limb(at, 1);
  }

  /// Of one element, counted from the bit at `low`: none is set below.
  template <class T>
  static ExactValue of(T element, unsigned low) {
    const ExactParts<T> parts(element);
    ExactValue value;
    value.nan = parts.nan;
    value.infinite = !parts.finite && !parts.nan && !parts.negative;
    value.minus_infinite = !parts.finite && !parts.nan && parts.negative;
    value.minus_zero = parts.minus_zero();
    if (!parts.finite) return value;
    const int position = parts.position - static_cast<int>(low);
    if (position >= 0)
      value.add(parts.mantissa, static_cast<unsigned>(position));
    else
      value.add(position > -64 ? parts.mantissa >> -position : 0, 0);
    if (parts.negative) value.negate();
    return value;
  }

 private:
  bool add_limb(std::size_t at, std::uint64_t number) {
    if (at >= max_limbs) return false;
    limbs[at] += number;
    return limbs[at] < number;
  }
};

/// How fields of one mini-block look.
struct ExactWideShape {
  unsigned low = 0;        ///< position of bit 0
  unsigned magnitude = 0;  ///< bits of |x|
  bool finite = false;     ///< else each field counts NaNs, infinities and zeros
  bool counts_zeros = true;

  /// Of elements of which nothing was agreed on.
  template <class T>
  static ExactWideShape of_any() {
    return {.magnitude = exact_positions<T> + exact_vectors_bits};
  }
  template <class T>
  static ExactWideShape of(const ExactMini& mini, bool zeros) {
    if (!mini.finite) return of_any<T>();
    return {mini.low, mini.magnitude, true, zeros};
  }

  [[nodiscard]] unsigned value_bits(const ExactWidths& widths) const {
    return magnitude + 1 + widths.carries;
  }
  [[nodiscard]] std::size_t words(const ExactWidths& widths) const {
    const unsigned counters = (finite ? 0 : 3) + (counts_zeros || !finite ? 1 : 0);
    return (value_bits(widths) + counters * widths.counter + widths.word_bits() - 1) /
           widths.word_bits();
  }

  /// Writes words() words.
  void encode(const ExactWidths& widths, ExactValue value, std::uint64_t* words) const {
    value.add(1, magnitude);
    ExactWriter<1> out(words, widths.word_bits());
    for (unsigned done = 0, bits = value_bits(widths); done < bits; done += 64)
      out.put(value.limbs[done / 64], bits - done < 64 ? bits - done : 64);
    if (!finite) {
      out.put(value.nan ? 1 : 0, widths.counter);
      out.put(value.infinite ? 1 : 0, widths.counter);
      out.put(value.minus_infinite ? 1 : 0, widths.counter);
    }
    if (counts_zeros || !finite) out.put(value.minus_zero ? 1 : 0, widths.counter);
    out.finish();
  }

  /// Subtracts what encode() added to each of so many contributions.
  void take_biases(std::size_t contributions, ExactValue& sum) const {
    ExactValue biases;
    biases.add(contributions, magnitude);
    biases.negate();
    bool carry = false;
    for (std::size_t i = 0; i < ExactValue::max_limbs; ++i) {
      const std::uint64_t with_carry = biases.limbs[i] + (carry ? 1 : 0);
      carry = carry && with_carry == 0;
      sum.limbs[i] += with_carry;
      carry |= sum.limbs[i] < with_carry;
    }
  }

  /// Of a sum that is finite and has no biases, rounded once.
  template <class T>
  [[nodiscard]] T quotient(ExactValue sum, std::uint64_t divisor) const;

  /// The quotient of a sum of so many contributions, rounded once.
  template <class T>
  [[nodiscard]] T decode(const ExactWidths& widths, const std::uint64_t* words,
                         std::size_t contributions, std::uint64_t divisor) const;
};

template <class T>
T ExactWideShape::decode(const ExactWidths& widths, const std::uint64_t* words,
                         std::size_t contributions, std::uint64_t divisor) const {
  ExactReader<1> in(words, widths.word_bits());
  ExactValue sum;
  for (unsigned done = 0, bits = value_bits(widths); done < bits; done += 64)
    sum.limbs[done / 64] = in.get(bits - done < 64 ? bits - done : 64);
  if (!finite) {
    const bool nan = in.get(widths.counter) != 0;
    const bool infinite = in.get(widths.counter) != 0;
    const bool minus_infinite = in.get(widths.counter) != 0;
    if (nan || (infinite && minus_infinite)) return exact_nan<T>();
    if (infinite || minus_infinite) return exact_infinity<T>(minus_infinite);
  }
  if ((counts_zeros || !finite) && in.get(widths.counter) == contributions)
    return exact_element<T>(0, true);
  take_biases(contributions, sum);
  return quotient<T>(sum, divisor);
}

template <class T>
T ExactWideShape::quotient(ExactValue sum, std::uint64_t divisor) const {
  const bool negative = sum.limbs[ExactValue::max_limbs - 1] >> 63 != 0;
  if (negative) sum.negate();
  constexpr int below = exact_quotient_limbs;
  constexpr int count = below + 2 * static_cast<int>(ExactValue::max_limbs);
  std::uint32_t limbs[count] = {};
  bool zero = true;
  for (std::size_t i = 0; i < ExactValue::max_limbs; ++i) {
    zero &= sum.limbs[i] == 0;
    limbs[below + 2 * static_cast<int>(i)] = static_cast<std::uint32_t>(sum.limbs[i]);
    limbs[below + 2 * static_cast<int>(i) + 1] = static_cast<std::uint32_t>(sum.limbs[i] >> 32);
  }
  if (zero) return T{};
  const bool more = divisor > 1 && divide_limbs(limbs, count, divisor);
  const auto bits = round_limbs<T>(limbs, count, static_cast<int>(low) - 32 * below, more);
  return exact_element<T>(bits, negative);
}

}  // namespace cohom::kernels::body
