// Adding lanes of different widths.
//
// A lane is the same bits of all words of a block, so the values e, e + 1, ... that share a lane of
// a source and a lane of the sum are neighbours in both: a run of words is shifted down, masked,
// shifted up and added.

#if defined(COHOM_WIDEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_WIDEN_INL_H
#undef COHOM_WIDEN_INL_H
#else
#define COHOM_WIDEN_INL_H
#endif

#include "kernels/core/body/lanes.hpp"
#include "kernels/merge/widening.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// A lane on its way from words of a source to words of the sum.
struct LaneMove {
  std::uint64_t mask;
  int down, up;
};

HWY_INLINE void add_lanes(const LaneMove& move, const std::uint64_t* from, std::size_t words,
                          std::uint64_t* to) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(d, move.mask);
  std::size_t i = 0;
  for (; i + lanes <= words; i += lanes) {
    const auto lane = hn::And(hn::ShiftRightSame(hn::LoadU(d, from + i), move.down), mask);
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::ShiftLeftSame(lane, move.up)), d, to + i);
  }
  for (; i < words; ++i) to[i] += (from[i] >> move.down & move.mask) << move.up;
}

/// Adds one block of a source.
inline void add_block(const std::uint64_t* from, unsigned width, std::size_t values,
                      unsigned sum_width, std::uint64_t* sum) {
  const std::size_t words = body::words_per_block(values, width);
  const std::size_t sum_words = body::words_per_block(values, sum_width);
  std::size_t word = 0;  // of the source, whose lane begins `down` bits up
  LaneMove move{body::lane_mask(width), 0, 0};
  for (std::size_t first = 0; first < values; first += sum_words, move.up += int(sum_width)) {
    const std::size_t end = std::min(first + sum_words, values);
    for (std::size_t e = first; e < end;) {
      const std::size_t run = std::min(words - word, end - e);
      add_lanes(move, from + word, run, sum + (e - first));
      e += run;
      word += run;
      if (word == words) {
        word = 0;
        move.down += int(width);
      }
    }
  }
}

inline void widen_block(const LaneBlocks& before, std::size_t values, const LaneSource* sources,
                        std::size_t source_count, unsigned width, std::uint64_t* sum) {
  std::uint64_t* const to = sum + before.words(width);
  std::memset(to, 0, 8 * body::words_per_block(values, width));
  for (std::size_t s = 0; s < source_count; ++s)
    add_block(sources[s].words + before.words(sources[s].width), sources[s].width, values, width,
              to);
}

inline void widen(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
                  unsigned width, std::uint64_t* sum) {
  for (std::size_t b = 0; b < run.blocks; ++b)
    widen_block({run.values, b, 0}, run.values, sources, source_count, width, sum);
  if (run.rest != 0)
    widen_block({run.values, run.blocks, 0}, run.rest, sources, source_count, width, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
