#include "codecs/common/lane_layout.hpp"

#include "codecs/common/codec.hpp"
#include "kernels/core/body/lanes.hpp"

#include <algorithm>

namespace cohom {

std::span<const unsigned> lane_widths() { return kernels::body::lane_widths; }

bool is_lane_width(std::uint64_t width) {
  return std::ranges::find(cohom::lane_widths(), width) != cohom::lane_widths().end();
}

std::uint64_t largest_lane_value(unsigned width) { return kernels::body::lane_mask(width); }

unsigned smallest_lane_width(std::uint64_t value) {
  for (unsigned width : cohom::lane_widths())
    if (value <= largest_lane_value(width)) return width;
  return 64;
}

std::size_t words_of_run(std::size_t elements, std::size_t block, unsigned width) {
  std::size_t words = elements / block * kernels::body::words_per_block(block, width);
  if (const std::size_t ragged = elements % block; ragged != 0)
    words += kernels::body::words_per_block(std::min(padded_block(ragged), block), width);
  return words;
}

}  // namespace cohom
