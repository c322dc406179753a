#include "aggregation/protocol/narrow.hpp"

#include <algorithm>
#include <bit>

namespace cohom::offload {

using kernels::body::words_per_block;

bool is_right(const Promotion& promotion) {
  const auto is_width = [](unsigned width) {
    return std::ranges::find(kernels::body::lane_widths, width) !=
           std::ranges::end(kernels::body::lane_widths);
  };
  return is_width(promotion.narrow_width) && is_width(promotion.wide_width) &&
         promotion.narrow_width < promotion.wide_width && promotion.wide_width <= 32 &&
         promotion.block >= 16 && promotion.block <= 65536 &&
         std::has_single_bit(promotion.block) &&
         (!promotion.has_levels || (promotion.narrow_width <= 4 &&
                                    std::ranges::all_of(promotion.levels, [&](unsigned level) {
                                      return level <=
                                             kernels::body::lane_mask(promotion.wide_width);
                                    })));
}

std::optional<std::size_t> values_of(const Promotion& promotion, std::size_t wide_words,
                                     std::size_t narrow_words) {
  const std::size_t blocks = wide_words / wide_block_words(promotion);
  const std::size_t wide_rest = wide_words % wide_block_words(promotion);
  if (narrow_words < blocks * narrow_block_words(promotion)) return std::nullopt;
  const std::size_t narrow_rest = narrow_words - blocks * narrow_block_words(promotion);
  if (wide_rest == 0)
    return narrow_rest == 0 ? std::optional(blocks * promotion.block) : std::nullopt;
  // Of block sizes that take as many words the largest will do: what others leave free is zero.
  for (std::size_t size = promotion.block / 2; size >= 16; size /= 2)
    if (words_per_block(size, promotion.wide_width) == wide_rest &&
        words_per_block(size, promotion.narrow_width) == narrow_rest)
      return blocks * promotion.block + size;
  return std::nullopt;
}

}  // namespace cohom::offload
