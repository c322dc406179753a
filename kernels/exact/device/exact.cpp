// Integers in bit streams: a thread has a mini-block of a header, or a stream of a group. Headers
// are the host's, and come along with each call. Where a group's words begin depends on all groups
// before.

#include "kernels/core/body/element.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/device_runtime/prefix.hpp"
#include "kernels/exact/body/exact_source.hpp"
#include "kernels/exact/body/exact_streams.hpp"
#include "kernels/exact/device/exact_rows.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

using Word = std::uint64_t;

/// The groups of a run.
template <class T>
struct Groups {
  std::size_t count;  ///< elements of the run

  [[nodiscard]] COHOM_HD std::size_t groups() const { return tiles_of(count, exact_group); }
  [[nodiscard]] COHOM_HD std::size_t elements_of(std::size_t group) const {
    const std::size_t left = count - group * exact_group;
    return left < exact_group ? left : exact_group;
  }
  /// Only the last one's header is shorter.
  [[nodiscard]] COHOM_HD std::size_t header_of(std::size_t group) const {
    return group * (2 * (exact_minis / body::ExactHeader<T>::per_word) + 1);
  }
};

template <class T>
struct MeasureGroups {
  using Header = body::ExactHeader<T>;
  static constexpr unsigned threads = exact_minis;  ///< a mini-block each
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 2;
  static constexpr unsigned code_bits = 8 * sizeof(body::ExactCode<T>);
  using Local = Nothing;
  struct Shared {
    std::uint32_t high[exact_minis], low[exact_minis], has_minus_zero[exact_minis];
  };

  std::size_t tiles;
  Groups<T> groups;
  const T* input;
  Word* header;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    const std::size_t elements = groups.elements_of(at.tile);
    Word* const own = header + groups.header_of(at.tile);
    const Header shape(own, elements);
    if constexpr (phase == 0) {
      if (at.thread >= shape.minis) return;
      const ExactSpan span =
          ExactElements<T>(input + at.tile * exact_group, elements).span(at.thread);
      shared.high[at.thread] = span.high_code<T>();
      shared.low[at.thread] = span.low_code<T>();
      shared.has_minus_zero[at.thread] = span.minus_zero ? 1 : 0;
    } else {
      for (std::size_t w = at.thread; w < shape.size(); w += threads)
        own[w] = w < shape.code_words() ? codes(shared.high, w, shape.minis)
                 : w < 2 * shape.code_words()
                     ? codes(shared.low, w - shape.code_words(), shape.minis)
                     : lacks(shared, shape.minis);
    }
  }

  [[nodiscard]] COHOM_HD static Word codes(const std::uint32_t* of, std::size_t word,
                                           std::size_t minis) {
    Word codes = 0;
    for (unsigned i = 0; i < Header::per_word; ++i)
      if (const std::size_t m = word * Header::per_word + i; m < minis)
        codes |= Word{of[m]} << (i * code_bits);
    return codes;
  }
  [[nodiscard]] COHOM_HD static Word lacks(const Shared& shared, std::size_t minis) {
    Word codes = 0;
    for (unsigned i = 0; i < Header::per_word; ++i) {
      const std::size_t first = i * Header::minis_a_lack;
      std::uint32_t found = first < minis ? 0 : 1;
      for (std::size_t m = first; m < first + Header::minis_a_lack && m < minis; ++m)
        found |= shared.has_minus_zero[m];
      if (found == 0) codes |= Word{1} << (i * code_bits);
    }
    return codes;
  }
};

/// Words of every group's payload.
template <class T>
struct CountWords {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  Groups<T> groups;
  body::ExactWidths widths;
  const Word* header;
  Word* counts;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t g = at.tile * threads + at.thread;
    if (g >= groups.groups()) return;
    const body::ExactHeader<T> own(header + groups.header_of(g), groups.elements_of(g));
    counts[g] = body::exact_stream_words(own.stream_bits(widths), widths.word_bits());
  }
};

/// A payload's place and shape, for kernels that have a stream a thread.
template <class T>
struct Streams {
  static constexpr unsigned threads = 64;  ///< so that short vectors keep many processors busy
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  Groups<T> groups;
  body::ExactWidths widths;
  const Word* header;
  const Word* offsets;  ///< by group: the word at which it begins

  [[nodiscard]] COHOM_HD std::size_t group_of(At at) const {
    return (at.tile * threads + at.thread) / exact_streams;
  }
  [[nodiscard]] COHOM_HD static std::size_t stream_of(At at) { return at.thread % exact_streams; }
  [[nodiscard]] COHOM_HD body::ExactHeader<T> header_of(std::size_t group) const {
    return {header + groups.header_of(group), groups.elements_of(group)};
  }
};

template <class T>
struct EncodeStreams : Streams<T> {
  const T* input;
  Word* words;

  template <int phase>
  COHOM_HD void run(At at, Nothing&, Nothing&) const {
    const std::size_t g = this->group_of(at);
    if (g >= this->groups.groups()) return;
    body::encode_exact_stream<T>(this->widths, this->header_of(g), input + g * exact_group,
                                 this->groups.elements_of(g), this->stream_of(at),
                                 words + this->offsets[g]);
  }
};

/// Of one payload, which holds any number of contributions.
template <class T>
struct DecodeStreams : Streams<T> {
  const Word* words;
  std::size_t contributions;
  std::uint64_t divisor;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Nothing&, Nothing&) const {
    const std::size_t g = this->group_of(at), s = this->stream_of(at);
    if (g >= this->groups.groups()) return;
    const body::ExactReader<> reader(words + this->offsets[g] + s, this->widths.word_bits());
    T* const to = output + g * exact_group;
    body::decode_exact_stream<T>(this->widths, this->header_of(g), reader, contributions, divisor,
                                 this->groups.elements_of(g), s,
                                 [to](std::size_t i, T element) { to[i] = element; });
  }
};

/// Of payloads of one contribution each. Their fields are read where they lie, so that a thread
/// keeps nothing of a payload, however many there are.
template <class T>
struct SumStreams : Streams<T> {
  const Word* const* sources;
  std::size_t source_count;
  std::size_t contributions;
  std::uint64_t divisor;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Nothing&, Nothing&) const {
    const std::size_t g = this->group_of(at), s = this->stream_of(at);
    if (g >= this->groups.groups()) return;
    const body::ExactHeader<T> own = this->header_of(g);
    const std::size_t elements = this->groups.elements_of(g), begin = this->offsets[g] + s;
    T* const to = output + g * exact_group;
    std::size_t bit = 0;
    for (std::size_t m = 0; m < own.minis; ++m) {
      const body::ExactMini mini = own.mini(m);
      const bool counts_zeros = own.counts_zeros(m);
      const bool wide = this->widths.is_wide(mini, counts_zeros);
      for (std::size_t i = m * exact_mini + s; i < (m + 1) * exact_mini; i += exact_streams) {
        T element{};
        if (!wide) {
          element = sum_at(mini, counts_zeros, begin, bit);
          bit += this->widths.value_bits(mini) + (counts_zeros ? this->widths.counter : 0);
        }
        if (i < elements) to[i] = element;
      }
    }
  }

  [[nodiscard]] COHOM_HD T sum_at(const body::ExactMini& mini, bool counts_zeros, std::size_t begin,
                                  std::size_t bit) const {
    const unsigned bits = this->widths.value_bits(mini);
    body::ExactInteger sum;
    std::uint64_t zeros = 0;
    for (std::size_t c = 0; c < source_count; ++c) {
      const Word* const words = sources[c] + begin;
      if (bits != 0) sum.add(body::exact_field_at(words, bit, bits));
      if (counts_zeros) zeros += body::exact_field_at(words, bit + bits, this->widths.counter).low;
    }
    return body::exact_sum_from<T>(this->widths, mini, counts_zeros, sum, zeros, contributions,
                                   divisor);
  }
};

/// Brings the header along, and finds where groups begin.
template <class T>
Streams<T> streams_of(DeviceContext& context, const ExactRun& run, const ExactRoom& room,
                      const Word* header) {
  const Groups<T> groups{run.count};
  const body::ExactWidths widths(room, run.type);
  const auto* const uploaded = static_cast<const Word*>(
      view(context.upload(header, 8 * exact_header_words(run.type, run.count))));
  auto* const counts = view(static_cast<Word*>(context.scratch(8 * (groups.groups() + 1))));
  launch(CountWords<T>{.tiles = tiles_of(groups.groups(), CountWords<T>::threads),
                       .groups = groups,
                       .widths = widths,
                       .header = uploaded,
                       .counts = counts});
  sum_up(counts, groups.groups());
  return {tiles_of(groups.groups() * exact_streams, Streams<T>::threads), groups, widths, uploaded,
          counts};
}

void measure(const ExactRun& run, const void* input, std::uint64_t* header) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(input, size_of(run.type), "exact: elements");
  const std::size_t bytes = 8 * exact_header_words(run.type, run.count);
  auto* const found = static_cast<Word*>(context.scratch(bytes));
  body::with_element_type(run.type, [&]<class T>(T) {
    const Groups<T> groups{run.count};
    launch(MeasureGroups<T>{.tiles = groups.groups(),
                            .groups = groups,
                            .input = view(static_cast<const T*>(input)),
                            .header = view(found)});
  });
  context.download(header, found, bytes);
}

void encode(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
            const void* input, std::uint64_t* words) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(input, size_of(run.type), "exact: elements");
  expect_aligned(words, 8, "exact: words");
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(EncodeStreams<T>{streams_of<T>(context, run, room, header),
                            view(static_cast<const T*>(input)), view(words)});
  });
}

void sum(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
         const std::uint64_t* const* sources, std::size_t source_count, std::uint64_t divisor,
         void* output) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(output, size_of(run.type), "exact: the output");
  std::vector<const Word*> views;
  views.reserve(source_count);
  for (std::size_t s = 0; s < source_count; ++s) {
    expect_aligned(sources[s], 8, "exact: a payload");
    views.push_back(view(sources[s]));
  }
  const auto* const uploaded = static_cast<const Word* const*>(
      view(context.upload(views.data(), views.size() * sizeof(Word*))));
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(SumStreams<T>{streams_of<T>(context, run, room, header), uploaded, source_count,
                         room.ranks, divisor, view(static_cast<T*>(output))});
  });
}

void decode(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
            const std::uint64_t* words, std::uint64_t divisor, void* output) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(words, 8, "exact: words");
  expect_aligned(output, size_of(run.type), "exact: the output");
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(DecodeStreams<T>{streams_of<T>(context, run, room, header), view(words), room.ranks,
                            divisor, view(static_cast<T*>(output))});
  });
}

}  // namespace

ExactKernels exact_row() { return {measure, encode, sum, decode}; }

}  // namespace cohom::kernels::device
