#include "kernels/core/body/lanes.hpp"
#include "kernels/merge/cpu/merge_rows.hpp"

namespace cohom::kernels {
namespace {

/// Of the block behind those `before` it.
void widen_block(const LaneSource* sources, std::size_t source_count, std::size_t values,
                 const LaneBlocks& before, unsigned width, std::uint64_t* sum) {
  const std::size_t words = body::words_per_block(values, width);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (std::size_t e = i; e < values; e += words, shift += width) {
      std::uint64_t value = 0;
      for (std::size_t s = 0; s < source_count; ++s)
        value +=
            body::lane_at(sources[s].words + before.words(sources[s].width),
                          body::words_per_block(values, sources[s].width), sources[s].width, e);
      word |= (value & body::lane_mask(width)) << shift;
    }
    sum[i] = word;
  }
}

}  // namespace

void scalar_widen(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
                  unsigned width, std::uint64_t* sum) {
  for (std::size_t b = 0; b < run.blocks; ++b) {
    const LaneBlocks before{run.values, b};
    widen_block(sources, source_count, run.values, before, width, sum + before.words(width));
  }
  const LaneBlocks before{run.values, run.blocks};
  widen_block(sources, source_count, run.rest, before, width, sum + before.words(width));
}

}  // namespace cohom::kernels
