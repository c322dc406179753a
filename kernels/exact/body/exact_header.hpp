#pragma once
// What a group's header says of its mini-blocks, and how wide their fields are.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/exact.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohom::kernels::body {

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

/// Bits that the sum of so many contributions needs more than one.
COHOM_HD inline unsigned carry_bits(std::size_t contributions) {
  return bit_width(contributions - 1);
}

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
        counter(bit_width(room.contributions)),
        sum_carries(carry_bits(room.ranks)),
        sum_counter(bit_width(room.ranks)),
        max_field(exact_max_field(type)) {}
  /// Bits that a word takes of its stream.
  [[nodiscard]] COHOM_HD unsigned word_bits() const { return 64 - carries; }
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
COHOM_HD inline std::size_t exact_stream_words(std::size_t stream_bits, unsigned word_bits) {
  return (stream_bits + word_bits - 1) / word_bits * exact_streams;
}

}  // namespace cohom::kernels::body
