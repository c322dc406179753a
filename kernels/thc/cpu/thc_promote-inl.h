// Adding narrow contributions into a wide sum.
//
// Lanes of 4 bits promoted to 8 need no unpacking: with W words in 4-bit lanes, lane 2m of word i
// is value 2m W + i, which in 8-bit lanes (2W words) is lane m of word i; lane 2m + 1 is lane m of
// word W + i. So the low nibbles of a word's bytes, looked up, are one wide word, the high ones
// another.

#if defined(COHOM_THC_PROMOTE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_PROMOTE_INL_H
#undef COHOM_THC_PROMOTE_INL_H
#else
#define COHOM_THC_PROMOTE_INL_H
#endif

#include "kernels/core/cpu/block_vectors-inl.h"
#include "kernels/core/cpu/lanes-inl.h"
#include "kernels/thc/cpu/thc_blocks.hpp"
#include "kernels/thc/cpu/thc_scratch.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Levels of up to 16 indices, as bytes.
struct LevelBytes {
  alignas(16) std::uint8_t of_index[16] = {};
  bool usable = true;

  explicit LevelBytes(const ThcFormat& format) {
    for (std::size_t k = 0; k < 16; ++k) {
      if (format.table && k >= format.levels.size()) break;
      const std::size_t level = format.table ? format.levels[k] : k;
      if (level > 255) usable = false;
      of_index[k] = static_cast<std::uint8_t>(level);
    }
  }
};

using Contributions = const std::uint64_t* const*;

/// One block of contributions in 4-bit lanes, `words` of them at `offset`, to 8-bit lanes.
template <class D8>
HWY_INLINE void promote_bytes(D8 d8, hn::Vec<D8> table, Contributions contributions,
                              std::size_t count, std::size_t offset, std::size_t words,
                              std::uint64_t* sum) {
  const hn::RepartitionToWide<hn::RepartitionToWide<hn::RepartitionToWide<D8>>> d64;
  const auto nibble = hn::Set(d8, 0x0f);
  for (std::size_t i = 0; i < words; i += hn::MaxLanes(d64)) {
    auto even = hn::Zero(d8);
    auto odd = hn::Zero(d8);
    for (std::size_t c = 0; c < count; ++c) {
      const auto word = hn::LoadU(d64, contributions[c] + offset + i);
      const auto low = hn::And(hn::BitCast(d8, word), nibble);
      const auto high = hn::And(hn::BitCast(d8, hn::ShiftRight<4>(word)), nibble);
      even = hn::Add(even, hn::TableLookupBytes(table, low));
      odd = hn::Add(odd, hn::TableLookupBytes(table, high));
    }
    hn::StoreU(hn::BitCast(d64, even), d64, sum + i);
    hn::StoreU(hn::BitCast(d64, odd), d64, sum + words + i);
  }
}

/// values := levels of the indices in values.
HWY_INLINE void look_up_levels(const ThcFormat& format, const LevelBytes& table, std::size_t count,
                               std::uint16_t* values) {
  if (!format.table) return;
  if (format.levels.size() > 16 || !table.usable) {
    for (std::size_t i = 0; i < count; ++i) values[i] = format.levels[values[i]];
    return;
  }
  const hn::ScalableTag<std::uint16_t> d16;
  const hn::ScalableTag<std::uint8_t> d8;
  const auto levels = hn::LoadDup128(d8, table.of_index);
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(d16)) {
    // A byte with its top bit set, as all upper ones get here, looks up a zero.
    const auto indices = hn::Or(hn::Load(d16, values + i), hn::Set(d16, 0x8000));
    const auto level = hn::TableLookupBytesOr0(levels, hn::BitCast(d8, indices));
    hn::Store(hn::BitCast(d16, level), d16, values + i);
  }
}

/// Any widths up to 16: unpack, look up, add, pack.
inline void promote_values(const ThcFormat& format, const LevelBytes& table,
                           Contributions contributions, std::size_t count, std::size_t offset,
                           std::uint64_t* sum) {
  auto& scratch = ThcScratch<float>::of_thread();
  const hn::ScalableTag<std::uint16_t> d;
  const std::size_t size = format.rotation;
  std::uint16_t* values = scratch.values.of(size + pack_padding);
  std::uint16_t* sums = scratch.levels.of(size + pack_padding);
  std::memset(sums, 0, (size + pack_padding) * sizeof *sums);
  for (std::size_t c = 0; c < count; ++c) {
    unpack_block(contributions[c] + offset, size, format.narrow_width, values);
    look_up_levels(format, table, size, values);
    for (std::size_t i = 0; i < size; i += hn::MaxLanes(d))
      hn::Store(hn::Add(hn::Load(d, sums + i), hn::Load(d, values + i)), d, sums + i);
  }
  pack_block(sums, size, format.wide_width, sum);
}

inline void promote(const ThcFormat& format, const ThcRun& run, Contributions contributions,
                    std::size_t count, std::uint64_t* sum) {
  const std::size_t size = format.rotation;
  const bool vectors = size >= 256 && format.narrow_width <= 16 && format.wide_width <= 16;
  const std::size_t blocks = vectors ? run.count / size : 0;
  const std::size_t narrow_words = body::words_per_block(size, format.narrow_width);
  const std::size_t wide_words = body::words_per_block(size, format.wide_width);
  const LevelBytes table(format);
  const bool bytes = table.usable && format.narrow_width == 4 && format.wide_width == 8;
  const hn::ScalableTag<std::uint8_t> d8;
  const auto levels = hn::LoadDup128(d8, table.of_index);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t offset = b * narrow_words;
    if (bytes)
      promote_bytes(d8, levels, contributions, count, offset, narrow_words, sum + b * wide_words);
    else
      promote_values(format, table, contributions, count, offset, sum + b * wide_words);
  }
  if (blocks * size == run.count) return;
  std::vector<const std::uint64_t*> rest;
  for (std::size_t c = 0; c < count; ++c) rest.push_back(contributions[c] + blocks * narrow_words);
  scalar_thc().promote(format, part_of(run, blocks * size, run.count - blocks * size), rest.data(),
                       count, sum + blocks * wide_words);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
