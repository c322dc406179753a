// Adding lanes of different widths: a thread makes a word of the sum.

#include "kernels/core/body/lanes.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/merge/device/merge_rows.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

struct WidenKernel {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  LaneBlocks blocks;
  const LaneSource* sources;
  std::size_t count;
  unsigned width;
  std::uint64_t* sum;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= blocks.words(width)) return;
    const std::size_t whole = body::words_per_block(blocks.values, width);
    const LaneBlocks before{blocks.values, i / whole < blocks.blocks ? i / whole : blocks.blocks,
                            0};
    const std::size_t values = before.blocks < blocks.blocks ? blocks.values : blocks.rest;
    const std::size_t words = body::words_per_block(values, width);
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (std::size_t e = i - before.words(width); e < values; e += words, shift += width) {
      std::uint64_t value = 0;
      for (std::size_t s = 0; s < count; ++s)
        value +=
            body::lane_at(sources[s].words + before.words(sources[s].width),
                          body::words_per_block(values, sources[s].width), sources[s].width, e);
      word |= (value & body::lane_mask(width)) << shift;
    }
    sum[i] = word;
  }
};

}  // namespace

void widen(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
           unsigned width, std::uint64_t* sum) {
  DeviceContext& context = begin_call();
  const std::size_t words = run.words(width);
  if (words == 0) return;
  expect_aligned(sum, 8, "a widened sum");
  std::vector<LaneSource> views;
  views.reserve(source_count);
  for (std::size_t s = 0; s < source_count; ++s) {
    expect_aligned(sources[s].words, 8, "a sum to be widened");
    views.push_back({view(sources[s].words), sources[s].width});
  }
  launch(WidenKernel{.tiles = tiles_of(words, WidenKernel::threads),
                     .blocks = run,
                     .sources = static_cast<const LaneSource*>(
                         view(context.upload(views.data(), views.size() * sizeof(LaneSource)))),
                     .count = source_count,
                     .width = width,
                     .sum = view(sum)});
}

}  // namespace cohom::kernels::device
