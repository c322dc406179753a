#include "aggregation/protocol/narrow.hpp"

#include <algorithm>
#include <bit>

namespace cohom::offload {

using kernels::body::words_per_block;

bool is_right(const Widening& widening) {
  const auto is_width = [](unsigned width) {
    return std::ranges::find(kernels::body::lane_widths, width) !=
           std::ranges::end(kernels::body::lane_widths);
  };
  return is_width(widening.narrow_width) && is_width(widening.wide_width) &&
         widening.narrow_width < widening.wide_width && widening.wide_width <= 32 &&
         widening.block >= 16 && widening.block <= 65536 && std::has_single_bit(widening.block) &&
         (!widening.has_levels ||
          (widening.narrow_width <= 4 && std::ranges::all_of(widening.levels, [&](unsigned level) {
             return level <= kernels::body::lane_mask(widening.wide_width);
           })));
}

std::optional<std::size_t> values_of(const Widening& widening, std::size_t wide_words,
                                     std::size_t narrow_words) {
  const std::size_t blocks = wide_words / wide_block_words(widening);
  const std::size_t wide_rest = wide_words % wide_block_words(widening);
  if (narrow_words < blocks * narrow_block_words(widening)) return std::nullopt;
  const std::size_t narrow_rest = narrow_words - blocks * narrow_block_words(widening);
  if (wide_rest == 0)
    return narrow_rest == 0 ? std::optional(blocks * widening.block) : std::nullopt;
  // Of block sizes that take as many words the largest will do: what others leave free is zero.
  for (std::size_t size = widening.block / 2; size >= 16; size /= 2)
    if (words_per_block(size, widening.wide_width) == wide_rest &&
        words_per_block(size, widening.narrow_width) == narrow_rest)
      return blocks * widening.block + size;
  return std::nullopt;
}

}  // namespace cohom::offload
