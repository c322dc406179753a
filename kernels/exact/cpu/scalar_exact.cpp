#include "kernels/exact/cpu/scalar_exact.hpp"

#include "kernels/exact/cpu/exact_rows.hpp"

#include <algorithm>

namespace cohom::kernels {
namespace {

using namespace body;

/// Calls visit(first element, elements) for every group of a run.
template <class Visit>
void for_each_group(std::size_t elements, Visit visit) {
  for (std::size_t first = 0; first < elements; first += exact_group)
    visit(first, std::min(exact_group, elements - first));
}

template <class T>
const char* element_of(const void* elements, std::size_t index) {
  return static_cast<const char*>(elements) + index * sizeof(T);
}

template <class T>
void measure_run(std::size_t elements, const void* input, std::uint64_t* header) {
  for_each_group(elements, [&](std::size_t first, std::size_t count) {
    measure_exact_group<T>(element_of<T>(input, first), count, header);
    header += ExactHeader<T>(header, count).size();
  });
}

template <class T>
void encode_run(const ExactWidths& widths, std::size_t elements, const std::uint64_t* header,
                const void* input, std::uint64_t* words) {
  for_each_group(elements, [&](std::size_t first, std::size_t count) {
    words += encode_exact_group<T>(widths, header, element_of<T>(input, first), count, words);
    header += ExactHeader<T>(header, count).size();
  });
}

/// `contributions`: all that are added.
template <class T>
void sum_run(const ExactWidths& widths, std::size_t elements, const std::uint64_t* header,
             const std::uint64_t* const* sources, std::size_t source_count,
             std::size_t contributions, std::uint64_t divisor, void* output) {
  std::size_t begin = 0;
  for_each_group(elements, [&](std::size_t first, std::size_t count) {
    begin +=
        sum_exact_group<T>(widths, {header, count}, count, {sources, source_count, begin},
                           contributions, divisor, static_cast<char*>(output) + first * sizeof(T));
    header += ExactHeader<T>(header, count).size();
  });
}

void measure(const ExactRun& run, const void* input, std::uint64_t* header) {
  with_element_type(run.type, [&]<class T>(T) { measure_run<T>(run.count, input, header); });
}

void encode(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
            const void* input, std::uint64_t* words) {
  with_element_type(run.type, [&]<class T>(T) {
    encode_run<T>(ExactWidths(room, run.type), run.count, header, input, words);
  });
}

void sum(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
         const std::uint64_t* const* sources, std::size_t source_count, std::uint64_t divisor,
         void* output) {
  with_element_type(run.type, [&]<class T>(T) {
    sum_run<T>(ExactWidths(room, run.type), run.count, header, sources, source_count, room.ranks,
               divisor, output);
  });
}

void decode(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
            const std::uint64_t* words, std::uint64_t divisor, void* output) {
  sum(run, room, header, &words, 1, divisor, output);
}

template <class T>
ExactLength length_of(const ExactWidths& widths, std::size_t elements,
                      const std::uint64_t* header) {
  ExactLength length;
  for_each_group(elements, [&](std::size_t, std::size_t count) {
    const ExactHeader<T> group(header, count);
    std::size_t bits = 0;
    for (std::size_t m = 0; m < group.minis; ++m) {
      const ExactMini mini = group.mini(m);
      const bool counts_zeros = group.counts_zeros(m);
      length.valid &= mini.valid;
      if (widths.is_wide(mini, counts_zeros))
        ++length.wide_minis;
      else
        bits += widths.value_bits(mini) + (counts_zeros ? widths.counter : 0);
    }
    length.words += exact_stream_words(bits * (exact_mini / exact_streams), widths.word_bits());
    header += group.size();
  });
  return length;
}

}  // namespace

ExactKernels scalar_exact() { return {measure, encode, sum, decode}; }

std::size_t exact_capacity(const ExactRoom& room, ElementType type, std::size_t elements) {
  const ExactWidths widths(room, type);
  const std::size_t positions = with_element_type(
      type, []<class T>(T) { return static_cast<std::size_t>(exact_positions<T>); });
  const std::size_t widest = positions + 1 + widths.sum_carries + widths.sum_counter;
  // With room for one contribution alone a field is narrower than that of the sum.
  const std::size_t field =
      std::min<std::size_t>(widest, widths.max_field) - (widths.sum_carries - widths.carries);
  const auto of_minis = [&](std::size_t minis) {
    return exact_stream_words(minis * (exact_mini / exact_streams) * field, widths.word_bits());
  };
  return elements / exact_group * of_minis(exact_minis) +
         of_minis(exact_minis_of(elements % exact_group));
}

ExactLength exact_length(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header) {
  return with_element_type(run.type, [&]<class T>(T) {
    return length_of<T>(ExactWidths(room, run.type), run.count, header);
  });
}

}  // namespace cohom::kernels
