#pragma once
// Lane layout: how many bits a lane needs and how many words a run of blocks takes
// (docs/wire-format.md, "Lanes" and "Blocks, pieces, padding").

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// The lane widths in use, ascending: for each number of lanes a word can hold, the widest.
std::span<const unsigned> lane_widths();

bool is_lane_width(std::uint64_t width);

/// Largest value a lane of this width holds.
std::uint64_t largest_lane_value(unsigned width);

/// Smallest width in use whose lanes hold `value`.
unsigned smallest_lane_width(std::uint64_t value);

/// Words of a run of blocks of `block` elements. The last one, when ragged, takes the room of its
/// padded size; everything else is whole blocks.
std::size_t words_of_run(std::size_t elements, std::size_t block, unsigned width);

}  // namespace cohom
