#pragma once
// Numbers that become a group: what its header says of them, and its payload.

#include "kernels/core/hd.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"
#include "kernels/exact/body/exact_streams.hpp"
#include "kernels/exact/exact.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// What the codes of a mini-block say of its numbers.
struct ExactSpan {
  int high = 0;  ///< 1 + the position of the highest bit; 0: there are zeros alone
  int low = 0;   ///< position of the lowest
  bool finite = true, minus_zero = false;

  /// The code of the highest bit.
  template <class T>
  [[nodiscard]] COHOM_HD unsigned high_code() const {
    if (!finite) return body::exact_not_finite<T>;
    return high == 0 ? 0 : at_least_one(high - body::exact_high_offset<T>);
  }
  /// That of the lowest.
  template <class T>
  [[nodiscard]] COHOM_HD unsigned low_code() const {
    return high == 0 ? 0 : at_least_one(body::exact_positions<T> - low - body::exact_low_offset<T>);
  }

 private:
  COHOM_HD static unsigned at_least_one(int code) {
    return code < 1 ? 1 : static_cast<unsigned>(code);
  }
};

/// Elements as a source: of the mini-blocks of a group their spans and their numbers, of which
/// those behind the last are 0.
template <class T>
class ExactElements {
 public:
  COHOM_HD ExactElements(const void* elements, std::size_t count)
      : elements_(elements), count_(count) {}

  [[nodiscard]] COHOM_HD ExactSpan span(std::size_t mini) const {
    ExactSpan span{.low = body::exact_positions<T>};
    const std::size_t end = (mini + 1) * exact_mini;
    for (std::size_t i = mini * exact_mini; i < end && i < count_; ++i) {
      const body::ExactParts<T> parts((*this)(i));
      span.finite &= parts.finite;
      span.minus_zero |= parts.minus_zero();
      if (!parts.finite || parts.mantissa == 0) continue;
      const int high = parts.position + static_cast<int>(body::bit_width(parts.mantissa));
      const int low = parts.position + static_cast<int>(body::trailing_zeros(parts.mantissa));
      span.high = high > span.high ? high : span.high;
      span.low = low < span.low ? low : span.low;
    }
    return span;
  }
  [[nodiscard]] COHOM_HD body::ExactParts<T> operator()(std::size_t index) const {
    return body::ExactParts<T>(index < count_ ? body::load_raw<T>(elements_, index) : T{});
  }

 private:
  const void* elements_;
  std::size_t count_;
};

/// Writes the header of a group of `count` elements of a source.
template <class T, class Source>
void measure_exact_source(const Source& source, std::size_t count, std::uint64_t* header) {
  using namespace body;
  using Header = ExactHeader<T>;
  constexpr unsigned bits = 8 * sizeof(ExactCode<T>);
  const Header shape(header, count);
  std::fill_n(header, shape.size(), 0);
  const auto put = [&](std::size_t word, std::size_t index, std::uint64_t code) {
    header[word + index / Header::per_word] |= code << index % Header::per_word * bits;
  };
  std::uint32_t zeros = 0;  // codes of 128 (f64: 256) elements that have a -0
  for (std::size_t m = 0; m < shape.minis; ++m) {
    const ExactSpan span = source.span(m);
    if (span.minus_zero) zeros |= 1u << m / Header::minis_a_lack;
    put(0, m, span.high_code<T>());
    put(shape.code_words(), m, span.low_code<T>());
  }
  for (std::size_t m = 0; m < shape.minis; m += Header::minis_a_lack)
    if ((zeros >> m / Header::minis_a_lack & 1) == 0)
      put(2 * shape.code_words(), m / Header::minis_a_lack, 1);
}

/// Writes the payload of a group of `count` elements of a source; returns the words written.
template <class T, class Source>
std::size_t encode_exact_source(const body::ExactWidths& widths, const std::uint64_t* header,
                                const Source& source, std::size_t count, std::uint64_t* words) {
  const body::ExactHeader<T> group(header, count);
  const std::size_t size = body::exact_stream_words(group.stream_bits(widths), widths.word_bits());
  if (size == 0) return 0;  // there may be no memory for words
  body::ExactWriter<> writers[exact_streams] = {
      {words, widths.word_bits()},     {words + 1, widths.word_bits()},
      {words + 2, widths.word_bits()}, {words + 3, widths.word_bits()},
      {words + 4, widths.word_bits()}, {words + 5, widths.word_bits()},
      {words + 6, widths.word_bits()}, {words + 7, widths.word_bits()}};
  for (std::size_t m = 0; m < group.minis; ++m) {
    const body::ExactMini mini = group.mini(m);
    const bool counts_zeros = group.counts_zeros(m);
    if (widths.is_wide(mini, counts_zeros)) continue;
    for (std::size_t i = 0; i < exact_mini; ++i)
      body::put_exact_number(widths, mini, counts_zeros, source(m * exact_mini + i),
                             writers[i % exact_streams]);
  }
  for (body::ExactWriter<>& writer : writers) writer.finish();
  return size;
}

}  // namespace cohom::kernels
