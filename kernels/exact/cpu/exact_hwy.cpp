// The exact kernels, one row for each compiled target. A ragged last group is the reference's.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/exact/cpu/exact_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/exact/cpu/scalar_exact.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exact/cpu/exact_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/exact/cpu/exact_encode-inl.h"
#include "kernels/exact/cpu/exact_measure-inl.h"
#include "kernels/exact/cpu/exact_round-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Calls visit(T{}) with the C++ type of `type`.
template <class Visit>
void with_type(ElementType type, Visit visit) {
  switch (type) {
    case ElementType::f64: return visit(double{});
    case ElementType::f16: return visit(float16{});
    case ElementType::bf16: return visit(bfloat16{});
    case ElementType::f32: break;
  }
  visit(float{});
}

/// Words of a whole group's header.
template <class T>
constexpr std::size_t exact_group_header = exact_header_words(element_type_v<T>, exact_group);

void measure(const ExactRun& run, const void* input, std::uint64_t* header) {
  with_type(run.type, [&]<class T>(T) {
    std::size_t first = 0;
    for (; first + exact_group <= run.count; first += exact_group) {
      measure_group<T>(element_at<T>(input, first), header);
      header += exact_group_header<T>;
    }
    if (first < run.count)
      measure_exact_group<T>(element_at<T>(input, first), run.count - first, header);
  });
}

void encode(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
            const void* input, std::uint64_t* words) {
  with_type(run.type, [&]<class T>(T) {
    const body::ExactWidths widths(room, run.type);
    std::size_t first = 0;
    for (; first + exact_group <= run.count; first += exact_group) {
      words = encode_group<T>(widths, header, element_at<T>(input, first), words);
      header += exact_group_header<T>;
    }
    if (first < run.count)
      encode_exact_group<T>(widths, header, element_at<T>(input, first), run.count - first, words);
  });
}

/// The fields of a group, added over all sources; returns the words of each.
template <class T>
std::size_t read_sources(const body::ExactWidths& widths, const GroupShape<T>& group,
                         const ExactSources& sources, ExactFields& fields) {
  const std::size_t words = body::exact_stream_words(group.stream_bits, widths.word_bits());
  if (words == 0) return 0;  // there may be no memory of words
  for (std::size_t s = 0; s < sources.count; ++s) {
    const std::uint64_t* const from = sources.payloads[s] + sources.begin;
    if (s == 0)
      read_group<T, false>(widths, group, from, words, fields);
    else
      read_group<T, true>(widths, group, from, words, fields);
  }
  return words;
}

void sum(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
         const std::uint64_t* const* payloads, std::size_t count, std::uint64_t divisor,
         void* output) {
  with_type(run.type, [&]<class T>(T) {
    const body::ExactWidths widths(room, run.type);
    ExactSources sources{payloads, count, 0};
    ExactFields fields;
    std::size_t first = 0;
    for (; first + exact_group <= run.count; first += exact_group) {
      const GroupShape<T> group(widths, header);
      sources.begin += read_sources<T>(widths, group, sources, fields);
      round_group<T>(widths, group, fields, room.ranks, divisor, element_at<T>(output, first));
      header += exact_group_header<T>;
    }
    if (first < run.count)
      sum_exact_group<T>(widths, {header, run.count - first}, run.count - first, sources,
                         room.ranks, divisor, element_at<T>(output, first));
  });
}

void decode(const ExactRun& run, const ExactRoom& room, const std::uint64_t* header,
            const std::uint64_t* words, std::uint64_t divisor, void* output) {
  sum(run, room, header, &words, 1, divisor, output);
}

ExactKernels exact_row() { return {measure, encode, sum, decode}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

ExactKernels highway_exact(Isa isa) { return COHOM_ROW_OF(isa, exact_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
ExactKernels highway_exact(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
