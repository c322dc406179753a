#pragma once
// Vertical lanes: w-bit fields in 64-bit words, so that packing a block is shift-and-or of
// contiguous runs of values, on CPU and GPU alike (docs/wire-format.md, "Lanes").
//
// A block of B values takes W = ceil(B / L) words of L = floor(64 / w) lanes; value e is lane
// e div W of word e mod W. For B = 16, w = 8 (L = 8, W = 2), bytes from the least significant:
//   word 0:  v0 v2 v4 v6 v8 v10 v12 v14        word 1:  v1 v3 v5 v7 v9 v11 v13 v15

#include "kernels/core/hd.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// The widths in use: for each number of lanes a word can hold, the widest lane.
inline constexpr unsigned lane_widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 21, 32, 64};

COHOM_HD constexpr unsigned lanes_per_word(unsigned width) { return 64 / width; }

COHOM_HD constexpr std::size_t words_per_block(std::size_t values, unsigned width) {
  const unsigned lanes = lanes_per_word(width);
  return (values + lanes - 1) / lanes;
}

COHOM_HD constexpr std::uint64_t lane_mask(unsigned width) {
  return ~std::uint64_t{0} >> (64 - width);
}

/// Value `index` of a block that takes `block_words` words.
COHOM_HD inline std::uint64_t lane_at(const std::uint64_t* words, std::size_t block_words,
                                      unsigned width, std::size_t index) {
  const auto shift = static_cast<unsigned>(index / block_words) * width;
  return words[index % block_words] >> shift & lane_mask(width);
}

/// Packs `count` values, each below 2^width; what no value fills is zero.
template <class Value>
COHOM_HD inline void pack_lanes(const Value* values, std::size_t count, unsigned width,
                                std::uint64_t* words) {
  const std::size_t block_words = words_per_block(count, width);
  for (std::size_t i = 0; i < block_words; ++i) {
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (std::size_t e = i; e < count; e += block_words, shift += width)
      word |= static_cast<std::uint64_t>(values[e]) << shift;
    words[i] = word;
  }
}

template <class Value>
COHOM_HD inline void unpack_lanes(const std::uint64_t* words, std::size_t count, unsigned width,
                                  Value* values) {
  const std::size_t block_words = words_per_block(count, width);
  for (std::size_t i = 0; i < block_words; ++i) {
    unsigned shift = 0;
    for (std::size_t e = i; e < count; e += block_words, shift += width)
      values[e] = static_cast<Value>(words[i] >> shift & lane_mask(width));
  }
}

}  // namespace cohom::kernels::body
