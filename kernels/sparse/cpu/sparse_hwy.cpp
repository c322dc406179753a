// The sparse kernels, one row for each compiled target.
//
// A word of the bitmap is 64 elements: that many are treated at once, without a branch on their
// bits, which no processor would foresee. Only eight empty words in a row are passed over.

#include "kernels/core/cpu/highway_targets.hpp"
#include "kernels/sparse/cpu/sparse_rows.hpp"

#if COHOM_HIGHWAY_TARGETS

#include "kernels/core/cpu/cached_output.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/cpu/sparse_hwy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/sparse/cpu/sparse_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Words of the bitmap that are looked at together.
inline constexpr std::size_t words_of_row = 8;

/// The part of a run from element `first` on, for the reference.
HWY_INLINE SparseRun rest_of(const SparseRun& run, std::size_t first) {
  return {run.element_bytes, run.first + first, run.count - first};
}

template <std::size_t lanes>
HWY_INLINE std::uint32_t next_mask(std::uint64_t& bits) {
  const auto mask = static_cast<std::uint32_t>(bits & ((std::uint64_t{1} << lanes) - 1));
  bits >>= lanes;
  return mask;
}

HWY_INLINE bool row_is_empty(const std::uint64_t* bitmap) {
  std::uint64_t any = 0;
#pragma GCC unroll 8
  for (std::size_t w = 0; w < words_of_row; ++w) any |= bitmap[w];
  return any == 0;
}

/// Asks for what a pass over elements will come to, the 64 elements a way ahead.
template <class T>
HWY_INLINE void prefetch_word(const T* from) {
  const char* const ahead = reinterpret_cast<const char*>(from) + 2048;
#pragma GCC unroll 8
  for (std::size_t line = 0; line < 64 * sizeof(T); line += 64)
    __builtin_prefetch(ahead + line, 0, 3);
}

template <class T>
void scan_run(const SparseRun& run, const void* elements, std::uint64_t* bitmap) {
  const std::size_t words = run.count / 64;
#pragma GCC unroll 4
  for (std::size_t w = 0; w < words; ++w) {
    const T* const from = element_at<T>(elements, w * 64);
    prefetch_word(from);
    bitmap[w] = bits_not_zero(from);
  }
  scalar_sparse().scan(rest_of(run, words * 64), element_at<T>(elements, words * 64),
                       bitmap + words);
}

/// Whether the selected ones of 64 elements are moved one by one. With NEON that is less work as
/// long as they are no more than the vectors; on x86 a branch that was not foreseen costs more.
template <class T>
HWY_INLINE bool moves_alone(std::uint64_t bits) {
#if HWY_ARCH_ARM
  return static_cast<std::size_t>(std::popcount(bits)) <= 64 / selected_lanes<T>;
#else
  (void)bits;
  return false;
#endif
}

/// Stores the selected ones of 64 elements; returns where the next ones go.
template <class T>
HWY_INLINE T* compact_word(const T* from, std::uint64_t bits, T* to) {
  constexpr std::size_t lanes = selected_lanes<T>;
  prefetch_word(from);
  if (moves_alone<T>(bits)) {
    for (; bits != 0; bits &= bits - 1, ++to)
      std::memcpy(to, from + std::countr_zero(bits), sizeof(T));
    return to;
  }
#pragma GCC unroll 32
  for (std::size_t i = 0; i < 64; i += lanes) {
    const std::uint32_t mask = next_mask<lanes>(bits);
    __builtin_prefetch(reinterpret_cast<const char*>(to) + 1024, 1, 2);
    hn::StoreU(select_lanes(from + i, mask), SelectedTag<T>(), to);
    to += std::popcount(mask);
  }
  return to;
}

template <class T>
void compact_run(const SparseRun& run, const void* elements, const std::uint64_t* bitmap,
                 void* compacted) {
  const std::size_t words = run.count / 64;
  T* to = static_cast<T*>(compacted);
  std::size_t w = 0;
  for (; w + words_of_row <= words; w += words_of_row) {
    if (row_is_empty(bitmap + w)) continue;
#pragma GCC unroll 1
    for (std::size_t k = w; k < w + words_of_row; ++k)
      to = compact_word(element_at<T>(elements, k * 64), bitmap[k], to);
  }
  for (; w < words; ++w) to = compact_word(element_at<T>(elements, w * 64), bitmap[w], to);
  scalar_sparse().compact(rest_of(run, words * 64), element_at<T>(elements, words * 64),
                          bitmap + words, to);
}

template <class T, bool streamed>
HWY_INLINE void write_lanes(Selected<T> v, T* to) {
  if constexpr (streamed)
    hn::Stream(v, SelectedTag<T>(), to);
  else
    hn::StoreU(v, SelectedTag<T>(), to);
}

template <class T, bool streamed>
HWY_INLINE void write_zeros(std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; i += selected_lanes<T>)
    write_lanes<T, streamed>(hn::Zero(SelectedTag<T>()), to + i);
}

/// Writes 64 elements; returns where the values of the next ones are.
template <class T, bool streamed>
HWY_INLINE const T* expand_word(const T* from, std::uint64_t bits, T* to) {
  constexpr std::size_t lanes = selected_lanes<T>;
  if (moves_alone<T>(bits)) {
    write_zeros<T, streamed>(64, to);
    for (; bits != 0; bits &= bits - 1, ++from)
      std::memcpy(to + std::countr_zero(bits), from, sizeof(T));
    return from;
  }
#pragma GCC unroll 32
  for (std::size_t i = 0; i < 64; i += lanes) {
    const std::uint32_t mask = next_mask<lanes>(bits);
    write_lanes<T, streamed>(spread_lanes(from, mask), to + i);
    from += std::popcount(mask);
  }
  return from;
}

template <class T, bool streamed>
void expand_words_of_run(const SparseRun& run, const void* compacted, const std::uint64_t* bitmap,
                         void* elements) {
  // Vectors are read whole: the last words, whose values end less than a vector before the end of
  // `compacted`, are left to the reference.
  std::size_t words = run.count / 64;
  std::size_t behind = 0;
  if (words * 64 < run.count) behind = static_cast<std::size_t>(std::popcount(bitmap[words]));
  while (words > 0 && behind < selected_lanes<T>)
    behind += static_cast<std::size_t>(std::popcount(bitmap[--words]));

  const T* from = static_cast<const T*>(compacted);
  std::size_t w = 0;
  for (; w + words_of_row <= words; w += words_of_row) {
    if (row_is_empty(bitmap + w)) {
      write_zeros<T, streamed>(words_of_row * 64, element_at<T>(elements, w * 64));
      continue;
    }
#pragma GCC unroll 1
    for (std::size_t k = w; k < w + words_of_row; ++k)
      from = expand_word<T, streamed>(from, bitmap[k], element_at<T>(elements, k * 64));
  }
  for (; w < words; ++w)
    from = expand_word<T, streamed>(from, bitmap[w], element_at<T>(elements, w * 64));
  // Streamed lines are not ordered with what follows, such as telling another thread.
  if (streamed) hwy::FlushStream();
  scalar_sparse().expand(rest_of(run, words * 64), from, bitmap + words,
                         element_at<T>(elements, words * 64));
}

template <class T>
void expand_run(const SparseRun& run, const void* compacted, const std::uint64_t* bitmap,
                void* elements) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(elements) % HWY_MAX_BYTES == 0;
  if (aligned && run.first * sizeof(T) >= cached_output_bytes)
    return expand_words_of_run<T, true>(run, compacted, bitmap, elements);
  expand_words_of_run<T, false>(run, compacted, bitmap, elements);
}

void scan(const SparseRun& run, const void* elements, std::uint64_t* bitmap) {
  switch (run.element_bytes) {
    case 2: return scan_run<std::uint16_t>(run, elements, bitmap);
    case 8: return scan_run<std::uint64_t>(run, elements, bitmap);
    default: return scan_run<std::uint32_t>(run, elements, bitmap);
  }
}

std::size_t count_bits(const std::uint64_t* words, std::size_t count) {
  const hn::ScalableTag<std::uint64_t> d;
  constexpr std::size_t lanes = HWY_MAX_BYTES / 8;
  auto sums = hn::Zero(d);
  std::size_t w = 0;
  for (; w + lanes <= count; w += lanes)
    sums = hn::Add(sums, hn::PopulationCount(hn::LoadU(d, words + w)));
  return hn::GetLane(hn::SumOfLanes(d, sums)) + scalar_sparse().count_bits(words + w, count - w);
}

void compact(const SparseRun& run, const void* elements, const std::uint64_t* bitmap,
             void* compacted) {
  switch (run.element_bytes) {
    case 2: return compact_run<std::uint16_t>(run, elements, bitmap, compacted);
    case 8: return compact_run<std::uint64_t>(run, elements, bitmap, compacted);
    default: return compact_run<std::uint32_t>(run, elements, bitmap, compacted);
  }
}

void expand(const SparseRun& run, const void* compacted, const std::uint64_t* bitmap,
            void* elements) {
  switch (run.element_bytes) {
    case 2: return expand_run<std::uint16_t>(run, compacted, bitmap, elements);
    case 8: return expand_run<std::uint64_t>(run, compacted, bitmap, elements);
    default: return expand_run<std::uint32_t>(run, compacted, bitmap, elements);
  }
}

SparseKernels sparse_row() { return {scan, count_bits, compact, expand}; }

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cohom::kernels {

SparseKernels highway_sparse(Isa isa) { return COHOM_ROW_OF(isa, sparse_row); }

}  // namespace cohom::kernels
#endif

#else  // the table has no row that would ask

namespace cohom::kernels {
SparseKernels highway_sparse(Isa) { return {}; }
}  // namespace cohom::kernels

#endif
