#pragma once
// The reference, one group at a time: what vectors leave to it, too.

#include "kernels/exact/body/exact_streams.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::kernels {

/// Writes the header of a group whose numbers are source(0) ... source(count - 1).
template <class T, class Source>
void measure_exact_numbers(const Source& source, std::size_t count, std::uint64_t* header) {
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
    int high = 0, low = exact_positions<T>;
    bool finite = true;
    for (std::size_t i = m * exact_mini; i < std::min(count, (m + 1) * exact_mini); ++i) {
      const auto number = source(i);
      finite &= number.finite;
      if (number.minus_zero()) zeros |= 1u << m / Header::minis_a_lack;
      if (number.high() == 0) continue;
      high = std::max(high, number.high());
      low = std::min(low, number.low());
    }
    if (!finite) {
      put(0, m, exact_not_finite<T>);
    } else if (high != 0) {
      put(0, m, static_cast<unsigned>(std::max(high - exact_high_offset<T>, 1)));
    }
    if (high != 0)
      put(shape.code_words(), m,
          static_cast<unsigned>(std::max(exact_positions<T> - low - exact_low_offset<T>, 1)));
  }
  for (std::size_t m = 0; m < shape.minis; m += Header::minis_a_lack)
    if ((zeros >> m / Header::minis_a_lack & 1) == 0)
      put(2 * shape.code_words(), m / Header::minis_a_lack, 1);
}

/// Writes the header of a group of `count` elements.
template <class T>
void measure_exact_group(const void* input, std::size_t count, std::uint64_t* header) {
  measure_exact_numbers<T>(body::ExactElements<T>(input, count), count, header);
}

/// Numbers of a source; returns the words written.
template <class T, class Source>
std::size_t encode_exact_numbers(const body::ExactWidths& widths, const std::uint64_t* header,
                                 const Source& source, std::size_t count, std::uint64_t* words) {
  const body::ExactHeader<T> group(header, count);
  for (std::size_t s = 0; s < exact_streams; ++s)
    body::encode_exact_numbers<T>(widths, group, source, s, words);
  return body::exact_stream_words(group.stream_bits(widths), widths.digit());
}

/// Elements; returns the words written.
template <class T>
std::size_t encode_exact_group(const body::ExactWidths& widths, const std::uint64_t* header,
                               const void* input, std::size_t count, std::uint64_t* words) {
  return encode_exact_numbers<T>(widths, header, body::ExactElements<T>(input, count), count,
                                 words);
}

/// Payloads that are added, and the word at which the group begins in each.
struct ExactSources {
  const std::uint64_t* const* payloads;
  std::size_t count;
  std::size_t begin;
};

/// `contributions`: all that are added. Returns the words read of each source.
template <class T>
std::size_t sum_exact_group(const body::ExactWidths& widths, const body::ExactHeader<T>& group,
                            std::size_t count, const ExactSources& sources,
                            std::size_t contributions, std::uint64_t divisor, void* output) {
  std::vector<body::ExactReader<>> readers;
  readers.reserve(sources.count);
  for (std::size_t s = 0; s < exact_streams; ++s) {
    readers.clear();
    for (std::size_t i = 0; i < sources.count; ++i)
      readers.emplace_back(sources.payloads[i] + sources.begin + s, widths.digit());
    body::decode_exact_stream<T>(
        widths, group, readers.data(), readers.size(), contributions, divisor, count, s,
        [&](std::size_t i, T element) { body::store_raw<T>(output, i, element); });
  }
  return body::exact_stream_words(group.stream_bits(widths), widths.digit());
}

}  // namespace cohom::kernels
