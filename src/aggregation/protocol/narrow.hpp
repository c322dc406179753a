#pragma once
// Narrow contributions of whole blocks of lanes, and how many words they have.

#include "kernels/core/body/lanes.hpp"

#include <cohom/promotion.hpp>

#include <cstddef>
#include <optional>

namespace cohom::offload {

inline std::size_t wide_block_words(const Promotion& promotion) {
  return kernels::body::words_per_block(promotion.block, promotion.wide_width);
}

inline std::size_t narrow_block_words(const Promotion& promotion) {
  return kernels::body::words_per_block(promotion.block, promotion.narrow_width);
}

/// Whether it can be worked with, whoever sent it.
bool is_right(const Promotion& promotion);

/// Values in the blocks that take so many words in a sum, and so many narrow; the last block may be
/// ragged. None: no run of blocks does.
std::optional<std::size_t> values_of(const Promotion& promotion, std::size_t wide_words,
                                     std::size_t narrow_words);

}  // namespace cohom::offload
