#pragma once
// One bit stream of one group: the reference of every form of the kernels, and a device's thread.

#include "kernels/core/hd.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"
#include "kernels/exact/body/exact_rounding.hpp"
#include "kernels/exact/exact.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// An integer of 128 bits; negative ones as two's complements.
struct ExactInteger {
  std::uint64_t low = 0, high = 0;

  COHOM_HD static ExactInteger shifted(std::uint64_t number, unsigned by) {
    if (by == 0) return {number, 0};
    if (by >= 64) return {0, by < 128 ? number << (by - 64) : 0};
    return {number << by, number >> (64 - by)};
  }
  COHOM_HD void add(const ExactInteger& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
  }
  COHOM_HD void negate() {
    low = ~low + 1;
    high = ~high + (low == 0 ? 1 : 0);
  }
  COHOM_HD void subtract(ExactInteger other) {
    other.negate();
    add(other);
  }
  [[nodiscard]] COHOM_HD bool is_zero() const { return (low | high) == 0; }
  [[nodiscard]] COHOM_HD bool is_negative() const { return high >> 63 != 0; }
};

COHOM_HD inline std::uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Writes fields of a stream, whose words lie `stride` apart and take `word_bits` bits each.
template <std::size_t stride = exact_streams>
class ExactWriter {
 public:
  COHOM_HD ExactWriter(std::uint64_t* words, unsigned word_bits)
      : words_(words), word_bits_(word_bits) {}

  COHOM_HD void put(std::uint64_t value, unsigned bits) {
    while (bits > 0) {
      const unsigned room = word_bits_ - used_;
      const unsigned taken = bits < room ? bits : room;
      word_ |= (value & low_bits(taken)) << used_ % 64;  // used_ is less than that
      value = taken < 64 ? value >> taken : 0;
      bits -= taken;
      used_ += taken;
      if (used_ == word_bits_) flush();
    }
  }
  COHOM_HD void put(const ExactInteger& value, unsigned bits) {
    put(value.low, bits < 64 ? bits : 64);
    if (bits > 64) put(value.high, bits - 64);
  }
  COHOM_HD void finish() {
    if (used_ > 0) flush();
  }

 private:
  COHOM_HD void flush() {
    *words_ = word_;
    words_ += stride;
    word_ = 0;
    used_ = 0;
  }

  std::uint64_t* words_;
  unsigned word_bits_;
  unsigned used_ = 0;
  std::uint64_t word_ = 0;
};

/// Reads fields of a sum. What lies above the bits that a word takes of its stream is carried into
/// the next word.
template <std::size_t stride = exact_streams>
class ExactReader {
 public:
  COHOM_HD ExactReader(const std::uint64_t* words, unsigned word_bits)
      : words_(words), word_bits_(word_bits) {}

  COHOM_HD std::uint64_t get(unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned done = 0; done < bits;) {
      if (left_ == 0) next();
      const unsigned taken = bits - done < left_ ? bits - done : left_;
      value |= (word_ & low_bits(taken)) << done;
      word_ = taken < 64 ? word_ >> taken : 0;
      left_ -= taken;
      done += taken;
    }
    return value;
  }
  COHOM_HD ExactInteger get_integer(unsigned bits) {
    ExactInteger value;
    value.low = get(bits < 64 ? bits : 64);
    if (bits > 64) value.high = get(bits - 64);
    return value;
  }

 private:
  COHOM_HD void next() {
    const std::uint64_t sum = *words_ + carry_;
    words_ += stride;
    word_ = sum & low_bits(word_bits_);
    carry_ = word_bits_ < 64 ? sum >> word_bits_ : 0;
    left_ = word_bits_;
  }

  const std::uint64_t* words_;
  unsigned word_bits_;
  unsigned left_ = 0;
  std::uint64_t word_ = 0, carry_ = 0;
};

/// A field of a narrow contribution, whose words take 64 bits each: it is read without those before
/// it. `bit`: where it begins in its stream; `bits`: 1 to 128.
template <std::size_t stride = exact_streams>
COHOM_HD inline ExactInteger exact_field_at(const std::uint64_t* words, std::size_t bit,
                                            unsigned bits) {
  const auto part = [&](std::size_t begin, unsigned count) {
    const std::size_t word = begin / 64;
    const auto shift = static_cast<unsigned>(begin % 64);
    std::uint64_t value = words[word * stride] >> shift;
    if (shift + count > 64) value |= words[(word + 1) * stride] << (64 - shift);
    return value & low_bits(count);
  };
  ExactInteger value;
  value.low = part(bit, bits < 64 ? bits : 64);
  if (bits > 64) value.high = part(bit + 64, bits - 64);
  return value;
}

/// A finite element as an integer of a mini-block's least bits. (Bits below them are zeros.)
template <class T>
COHOM_HD inline ExactInteger exact_integer(const ExactParts<T>& parts, const ExactMini& mini) {
  const int shift = parts.position - static_cast<int>(mini.low);
  ExactInteger value = shift >= 0 ? ExactInteger::shifted(parts.mantissa, unsigned(shift))
                                  : ExactInteger{shift > -64 ? parts.mantissa >> -shift : 0, 0};
  if (parts.negative) value.negate();
  return value;
}

/// Writes one number, a source's, of a mini-block that is not wide.
template <class Number>
COHOM_HD inline void put_exact_number(const ExactWidths& widths, const ExactMini& mini,
                                      bool counts_zeros, const Number& number, ExactWriter<>& out) {
  if (!mini.empty) {
    ExactInteger field = exact_integer(number, mini);
    field.add(ExactInteger::shifted(1, mini.magnitude));
    out.put(field, widths.value_bits(mini));
  }
  if (counts_zeros) out.put(number.minus_zero() ? 1 : 0, widths.counter);
}

/// Writes stream `stream` of a group of `count` elements.
template <class T>
COHOM_HD inline void encode_exact_stream(const ExactWidths& widths, const ExactHeader<T>& header,
                                         const void* input, std::size_t count, std::size_t stream,
                                         std::uint64_t* words) {
  ExactWriter<> out(words + stream, widths.word_bits());
  for (std::size_t m = 0; m < header.minis; ++m) {
    const ExactMini mini = header.mini(m);
    const bool counts_zeros = header.counts_zeros(m);
    if (widths.is_wide(mini, counts_zeros)) continue;
    for (std::size_t i = m * exact_mini + stream; i < (m + 1) * exact_mini; i += exact_streams) {
      const ExactParts<T> parts(i < count ? load_raw<T>(input, i) : T{});
      put_exact_number(widths, mini, counts_zeros, parts, out);
    }
  }
  out.finish();
}

/// The element of an exact sum: the quotient by `divisor`, rounded once.
template <class T>
COHOM_HD inline T exact_quotient(ExactInteger sum, unsigned low, std::uint64_t divisor) {
  const bool negative = sum.is_negative();
  if (negative) sum.negate();
  if (sum.is_zero()) return T{};
  constexpr int below = exact_quotient_limbs;
  std::uint32_t limbs[below + 4] = {};
  for (int i = 0; i < 2; ++i) {
    limbs[below + i] = static_cast<std::uint32_t>(sum.low >> 32 * i);
    limbs[below + 2 + i] = static_cast<std::uint32_t>(sum.high >> 32 * i);
  }
  const bool more = divisor > 1 && divide_limbs(limbs, below + 4, divisor);
  const auto bits = round_limbs<T>(limbs, below + 4, static_cast<int>(low) - 32 * below, more);
  return exact_element<T>(bits, negative);
}

/// The element of added fields and added counts of -0.
template <class T>
COHOM_HD inline T exact_sum_from(const ExactWidths& widths, const ExactMini& mini,
                                 bool counts_zeros, ExactInteger sum, std::uint64_t zeros,
                                 std::size_t contributions, std::uint64_t divisor) {
  if (counts_zeros && zeros == contributions) return exact_element<T>(0, true);
  if (widths.value_bits(mini) == 0) return T{};
  sum.subtract(ExactInteger::shifted(contributions, mini.magnitude));
  return exact_quotient<T>(sum, mini.low, divisor);
}

/// Calls visit(i, element) for the elements of a stream of a group of `count` elements.
/// `contributions`: all that were added.
template <class T, class Visit>
COHOM_HD inline void decode_exact_stream(const ExactWidths& widths, const ExactHeader<T>& header,
                                         ExactReader<> reader, std::size_t contributions,
                                         std::uint64_t divisor, std::size_t count,
                                         std::size_t stream, Visit visit) {
  for (std::size_t m = 0; m < header.minis; ++m) {
    const ExactMini mini = header.mini(m);
    const bool counts_zeros = header.counts_zeros(m);
    const bool wide = widths.is_wide(mini, counts_zeros);
    for (std::size_t i = m * exact_mini + stream; i < (m + 1) * exact_mini; i += exact_streams) {
      T element{};
      if (!wide) {
        const ExactInteger sum = reader.get_integer(widths.value_bits(mini));
        const std::uint64_t zeros = counts_zeros ? reader.get(widths.counter) : 0;
        element = exact_sum_from<T>(widths, mini, counts_zeros, sum, zeros, contributions, divisor);
      }
      if (i < count) visit(i, element);
    }
  }
}

}  // namespace cohom::kernels::body
