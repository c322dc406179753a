#pragma once
// The reference, one group at a time: what vectors leave to it, too.

#include "kernels/exact/body/exact_source.hpp"
#include "kernels/exact/body/exact_streams.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// Writes the header of a group of `count` elements.
template <class T>
void measure_exact_group(const void* input, std::size_t count, std::uint64_t* header) {
  measure_exact_source<T>(ExactElements<T>(input, count), count, header);
}

/// Returns the words written.
template <class T>
std::size_t encode_exact_group(const body::ExactWidths& widths, const std::uint64_t* header,
                               const void* input, std::size_t count, std::uint64_t* words) {
  return encode_exact_source<T>(widths, header, ExactElements<T>(input, count), count, words);
}

/// Payloads that are added, and the word at which the group begins in each.
struct ExactSources {
  const std::uint64_t* const* payloads;
  std::size_t count;
  std::size_t begin;
};

/// Of the elements of one stream, what has been added so far: the fields of any number of sources
/// take no memory but this.
struct ExactStreamSums {
  static constexpr std::size_t a_mini = exact_mini / exact_streams;
  struct Element {
    body::ExactInteger sum;
    std::uint64_t zeros = 0;
  };

  /// Calls visit(mini-block's number, it, whether it counts zeros, its elements) for those of a
  /// group that are in its payload.
  template <class T, class Visit>
  void for_each_mini(const body::ExactWidths& widths, const body::ExactHeader<T>& group,
                     Visit visit) {
    for (std::size_t m = 0; m < group.minis; ++m) {
      const body::ExactMini mini = group.mini(m);
      const bool counts_zeros = group.counts_zeros(m);
      if (!widths.is_wide(mini, counts_zeros)) visit(m, mini, counts_zeros, elements + m * a_mini);
    }
  }
  /// Adds the stream of one source.
  template <class T>
  void add(const body::ExactWidths& widths, const body::ExactHeader<T>& group,
           body::ExactReader<> reader) {
    for_each_mini<T>(widths, group,
                     [&](std::size_t, const body::ExactMini& mini, bool counts_zeros, Element* of) {
                       const unsigned bits = widths.value_bits(mini);
                       for (std::size_t i = 0; i < a_mini; ++i) {
                         if (bits != 0) of[i].sum.add(reader.get_integer(bits));
                         if (counts_zeros) of[i].zeros += reader.get(widths.counter);
                       }
                     });
  }

  Element elements[exact_group / exact_streams];
};

/// `contributions`: all that are added. Returns the words read of each source.
template <class T>
std::size_t sum_exact_group(const body::ExactWidths& widths, const body::ExactHeader<T>& group,
                            std::size_t count, const ExactSources& sources,
                            std::size_t contributions, std::uint64_t divisor, void* output) {
  const std::size_t size = body::exact_stream_words(group.stream_bits(widths), widths.word_bits());
  for (std::size_t i = 0; i < count; ++i) body::store_raw<T>(output, i, T{});
  if (size == 0) return 0;  // there may be no memory of words
  for (std::size_t s = 0; s < exact_streams; ++s) {
    ExactStreamSums sums;
    for (std::size_t i = 0; i < sources.count; ++i)
      sums.add<T>(widths, group, {sources.payloads[i] + sources.begin + s, widths.word_bits()});
    sums.for_each_mini<T>(widths, group,
                          [&](std::size_t m, const body::ExactMini& mini, bool counts_zeros,
                              const ExactStreamSums::Element* of) {
                            for (std::size_t i = 0; i < ExactStreamSums::a_mini; ++i) {
                              const std::size_t element = m * exact_mini + i * exact_streams + s;
                              if (element < count)
                                body::store_raw<T>(
                                    output, element,
                                    body::exact_sum_from<T>(widths, mini, counts_zeros, of[i].sum,
                                                            of[i].zeros, contributions, divisor));
                            }
                          });
  }
  return size;
}

}  // namespace cohom::kernels
