#pragma once
// Numbers as integers: what a mini-block's codes say of its fields, and one rounding at the end.
// Integer arithmetic alone, for the host and for devices.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/exact/exact.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohom::kernels::body {

/// An element type's numbers are integers times its least denormal: so many bits, or positions.
template <class T>
struct ExactFormat;
template <>
struct ExactFormat<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa = 23, exponents = 8;
};
template <>
struct ExactFormat<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa = 52, exponents = 11;
};
template <>
struct ExactFormat<float16> {
  using Bits = std::uint16_t;
  static constexpr int mantissa = 10, exponents = 5;
};
template <>
struct ExactFormat<bfloat16> {
  using Bits = std::uint16_t;
  static constexpr int mantissa = 7, exponents = 8;
};

template <class T>
inline constexpr int exact_max_exponent = (1 << ExactFormat<T>::exponents) - 1;
/// Bits of the largest number.
template <class T>
inline constexpr int exact_positions = exact_max_exponent<T> - 2 + ExactFormat<T>::mantissa + 1;
/// Exponent of the least denormal.
template <class T>
inline constexpr int exact_unit = 2 -
                                  (1 << (ExactFormat<T>::exponents - 1)) - ExactFormat<T>::mantissa;

/// Codes of 8 bits count from a bit that every normal number has.
template <class T>
inline constexpr bool exact_small_codes = !std::is_same_v<T, double>;
template <class T>
using ExactCode = std::conditional_t<exact_small_codes<T>, std::uint8_t, std::uint16_t>;
/// What is taken from 1 + the highest bit's position, and from the positions above the lowest bit's
/// (its own with them), so that the least code is 1.
template <class T>
inline constexpr int exact_high_offset = exact_small_codes<T> ? ExactFormat<T>::mantissa : 0;
template <class T>
inline constexpr int exact_low_offset = exact_small_codes<T> ? ExactFormat<T>::mantissa - 1 : 0;
/// A mini-block with a NaN or an infinity on some rank, as the code of the highest bit.
template <class T>
inline constexpr unsigned exact_not_finite = static_cast<ExactCode<T>>(~0u);

/// Bits that count so many: floor(log2) + 1.
COHOM_HD inline unsigned bit_length(std::uint64_t number) { return bit_width(number); }
/// Zero bits below the lowest 1 of a number that is not 0.
COHOM_HD inline unsigned trailing_zeros(std::uint64_t number) {
  return count_ones((number & (~number + 1)) - 1);
}
/// Bits that the sum of so many contributions needs more than one.
COHOM_HD inline unsigned carry_bits(std::size_t contributions) {
  return bit_length(contributions - 1);
}

/// A finite number: mantissa * 2^position, in least denormals.
template <class T>
struct ExactParts {
  std::uint64_t mantissa = 0;
  int position = 0;
  bool negative = false, finite = true, nan = false;

  COHOM_HD explicit ExactParts(T element) {
    using Format = ExactFormat<T>;
    typename Format::Bits bits;
    std::memcpy(&bits, &element, sizeof bits);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << Format::mantissa) - 1);
    const int exponent = static_cast<int>(bits >> Format::mantissa) & exact_max_exponent<T>;
    negative = bits >> (8 * sizeof(T) - 1) != 0;
    finite = exponent != exact_max_exponent<T>;
    nan = !finite && fraction != 0;
    mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << Format::mantissa;
    position = exponent == 0 ? 0 : exponent - 1;
  }
  [[nodiscard]] COHOM_HD bool minus_zero() const { return finite && negative && mantissa == 0; }
};

/// What codes say of one mini-block.
struct ExactMini {
  bool empty = true;  ///< zeros
  bool finite = true;
  unsigned low = 0;        ///< position of bit 0 of a field
  unsigned magnitude = 0;  ///< bits of |x|
  bool valid = true;

  template <class T>
  COHOM_HD static ExactMini of(unsigned high, unsigned low) {
    ExactMini mini;
    mini.empty = high == 0;
    mini.finite = high != exact_not_finite<T>;
    if (!mini.finite) {
      mini.magnitude = exact_positions<T>;
    } else if (high != 0 || low != 0) {
      const int top = static_cast<int>(high) + exact_high_offset<T>;
      const int bottom = exact_positions<T> - static_cast<int>(low) - exact_low_offset<T>;
      mini.valid =
          high != 0 && low != 0 && top <= exact_positions<T> && bottom >= 0 && top > bottom;
      mini.low = static_cast<unsigned>(bottom);
      mini.magnitude = static_cast<unsigned>(top - bottom);
    }
    return mini;
  }
};

/// How wide fields of a room are.
struct ExactWidths {
  unsigned carries = 0, counter = 1;          ///< of these words
  unsigned sum_carries = 0, sum_counter = 1;  ///< of all ranks' sum, which decides what is wide
  unsigned max_field = 64;                    ///< of a sum

  COHOM_HD ExactWidths(const ExactRoom& room, ElementType type)
      : carries(carry_bits(room.contributions)),
        counter(bit_length(room.contributions)),
        sum_carries(carry_bits(room.ranks)),
        sum_counter(bit_length(room.ranks)),
        max_field(exact_max_field(type)) {}
  /// Bits that a word takes of its stream.
  [[nodiscard]] COHOM_HD unsigned digit() const { return 64 - carries; }
  [[nodiscard]] COHOM_HD bool is_wide(const ExactMini& mini, bool counts_zeros) const {
    return !mini.finite ||
           (mini.empty ? 0 : mini.magnitude + 1 + sum_carries) + (counts_zeros ? sum_counter : 0) >
               max_field;
  }
  /// Of a mini-block that is not wide.
  [[nodiscard]] COHOM_HD unsigned value_bits(const ExactMini& mini) const {
    return mini.empty ? 0 : mini.magnitude + 1 + carries;
  }
};

/// The header of one group.
template <class T>
struct ExactHeader {
  static constexpr std::size_t per_word = 8 / sizeof(ExactCode<T>);
  /// Mini-blocks that one code of those who lack a -0 speaks of.
  static constexpr std::size_t minis_a_lack = exact_minis / per_word;

  const std::uint64_t* words;
  std::size_t minis;

  COHOM_HD ExactHeader(const std::uint64_t* header, std::size_t elements)
      : words(header), minis(exact_minis_of(elements)) {}
  [[nodiscard]] COHOM_HD std::size_t code_words() const {
    return (minis + per_word - 1) / per_word;
  }
  [[nodiscard]] COHOM_HD std::size_t size() const { return 2 * code_words() + 1; }
  [[nodiscard]] COHOM_HD unsigned code(std::size_t word, std::size_t index) const {
    constexpr unsigned bits = 8 * sizeof(ExactCode<T>);
    return static_cast<ExactCode<T>>(words[word + index / per_word] >> index % per_word * bits);
  }
  [[nodiscard]] COHOM_HD ExactMini mini(std::size_t index) const {
    return ExactMini::of<T>(code(0, index), code(code_words(), index));
  }
  /// Whether a sum may be -0 here: no rank lacks one.
  [[nodiscard]] COHOM_HD bool counts_zeros(std::size_t mini) const {
    return code(2 * code_words(), mini / minis_a_lack) == 0;
  }
  /// Bits of one stream.
  [[nodiscard]] COHOM_HD std::size_t stream_bits(const ExactWidths& widths) const {
    std::size_t bits = 0;
    for (std::size_t m = 0; m < minis; ++m) bits += field_bits(widths, m);
    return bits * (exact_mini / exact_streams);
  }
  [[nodiscard]] COHOM_HD unsigned field_bits(const ExactWidths& widths, std::size_t m) const {
    const ExactMini shape = mini(m);
    const bool counts = counts_zeros(m);
    if (widths.is_wide(shape, counts)) return 0;
    return widths.value_bits(shape) + (counts ? widths.counter : 0);
  }
};

/// Words of a group's payload whose streams have so many bits.
COHOM_HD inline std::size_t exact_stream_words(std::size_t stream_bits, unsigned digit) {
  return (stream_bits + digit - 1) / digit * exact_streams;
}

/// Rounds limbs (of 32 bits, the least first) * 2^position least denormals to nearest, ties to
/// even; `more`: something is below them. The bits of |element|, infinity included.
template <class T>
COHOM_HD inline typename ExactFormat<T>::Bits round_limbs(const std::uint32_t* limbs, int count,
                                                          int position, bool more) {
  using Format = ExactFormat<T>;
  constexpr std::uint64_t infinity = std::uint64_t{exact_max_exponent<T>} << Format::mantissa;
  while (count > 0 && limbs[count - 1] == 0) --count;
  if (count == 0) return 0;
  const auto bit = [&](int i) {
    return i < 0 || i >= 32 * count ? 0u : limbs[i / 32] >> (i % 32) & 1u;
  };
  const int top = 32 * (count - 1) + static_cast<int>(bit_length(limbs[count - 1])) - 1;
  int cut = top - Format::mantissa;         // bits below those that are kept
  if (position + cut < 0) cut = -position;  // a denormal
  std::uint64_t kept = 0;
  for (int i = top; i >= cut; --i) kept = kept << 1 | bit(i);
  if (bit(cut - 1) != 0) {
    bool above_half = more || (kept & 1) != 0;
    for (int i = 0; i < cut - 1 && !above_half; ++i) above_half = bit(i) != 0;
    kept += above_half ? 1 : 0;
  }
  if (position + cut > exact_positions<T>) return static_cast<typename Format::Bits>(infinity);
  // A normal number's first bit adds 1 to the exponent.
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(position + cut) << Format::mantissa) + kept;
  return static_cast<typename Format::Bits>(bits < infinity ? bits : infinity);
}

/// The quotient of limbs and divisor in place, `below` limbs of it below the integers: limbs[0] is
/// the least of them. Whether there is a remainder. divisor < 2^32.
COHOM_HD inline bool divide_limbs(std::uint32_t* limbs, int count, std::uint64_t divisor) {
  std::uint64_t rest = 0;
  for (int i = count - 1; i >= 0; --i) {
    const std::uint64_t digit = rest << 32 | limbs[i];
    limbs[i] = static_cast<std::uint32_t>(digit / divisor);
    rest = digit % divisor;
  }
  return rest != 0;
}

/// Limbs below the integers that a quotient is rounded from: more than 64 significant bits.
inline constexpr int exact_quotient_limbs = 3;

/// An element of its bits and sign.
template <class T>
COHOM_HD inline T exact_element(typename ExactFormat<T>::Bits magnitude, bool negative) {
  using Bits = typename ExactFormat<T>::Bits;
  const Bits bits =
      static_cast<Bits>(magnitude | (negative ? Bits{1} << (8 * sizeof(T) - 1) : Bits{0}));
  T element{};
  std::memcpy(static_cast<void*>(&element), &bits, sizeof element);
  return element;
}
template <class T>
COHOM_HD inline T exact_infinity(bool negative) {
  using Bits = typename ExactFormat<T>::Bits;
  return exact_element<T>(
      static_cast<Bits>(Bits{exact_max_exponent<T>} << ExactFormat<T>::mantissa), negative);
}
template <class T>
COHOM_HD inline T exact_nan() {
  using Bits = typename ExactFormat<T>::Bits;
  constexpr int mantissa = ExactFormat<T>::mantissa;
  return exact_element<T>(
      static_cast<Bits>((Bits{exact_max_exponent<T>} << mantissa) | Bits{1} << (mantissa - 1)),
      false);
}

}  // namespace cohom::kernels::body
