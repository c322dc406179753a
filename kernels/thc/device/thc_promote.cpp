// Adding narrow contributions: their lanes are looked up in the table of levels, added, and are
// wide lanes.

#include "kernels/core/body/lanes.hpp"
#include "kernels/device_runtime/frame.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/device/thc_rows.hpp"

namespace cohom::kernels::device {
namespace {

/// 4 bits to 8, frames of 256 values, levels below 128: a thread looks a word's 16 nibbles up by
/// byte permutations of a table in four registers, and has all of two words of the sum. Nibble 16 j
/// + t of a frame is number j of word t there, and byte j / 2 of word t or, for odd j, 16 + t here.
struct PromoteNibbles {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t words;  ///< of a contribution
  const std::uint64_t* const* contributions;
  std::size_t count;
  std::uint32_t table[4];  ///< 16 levels
  std::uint64_t* sum;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= words) return;
    std::uint32_t sums[4] = {0, 0, 0, 0};  // four values each, as bytes
    for (std::size_t c = 0; c < count; ++c) {
      const std::uint64_t word = contributions[c][i];
      COHOM_UNROLL
      for (unsigned four = 0; four < 4; ++four)
        sums[four] += looked_up(table, static_cast<std::uint32_t>(word >> (16 * four)) & 0xffff);
    }
    const std::size_t frame = i / frame_side, t = i % frame_side;
    std::uint64_t* const to = sum + frame * 2 * frame_side + t;
    to[0] = std::uint64_t{permute_bytes(sums[2], sums[3], 0x6420)} << 32 |
            permute_bytes(sums[0], sums[1], 0x6420);
    to[frame_side] = std::uint64_t{permute_bytes(sums[2], sums[3], 0x7531)} << 32 |
                     permute_bytes(sums[0], sums[1], 0x7531);
  }

  /// The levels of four nibbles.
  COHOM_HD static std::uint32_t looked_up(const std::uint32_t (&table)[4], std::uint32_t nibbles) {
    const std::uint32_t low = permute_bytes(table[0], table[1], nibbles & 0x7777);
    const std::uint32_t high = permute_bytes(table[2], table[3], nibbles & 0x7777);
    // All bits, or the highest alone: no level has that one.
    const std::uint32_t mask = permute_bytes(0x80, 0, nibbles & 0x8888);
    return low ^ ((low ^ high) & mask);
  }
};

/// Any lanes: a thread makes a word of the sum.
struct PromoteBlocks {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  ThcSettings settings;
  std::size_t blocks, padded;
  const std::uint64_t* const* contributions;
  std::size_t count;
  std::size_t skipped;
  std::uint64_t* sum;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t wide = body::words_per_block(padded, settings.wide_width);
    const std::size_t narrow = body::words_per_block(padded, settings.narrow_width);
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= blocks * wide) return;
    const std::size_t first = skipped + i / wide * narrow;  // of the block, in a contribution
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (std::size_t p = i % wide; p < padded; p += wide, shift += settings.wide_width) {
      std::uint64_t value = 0;
      for (std::size_t c = 0; c < count; ++c)
        value += settings.level(static_cast<std::uint32_t>(
            body::lane_at(contributions[c] + first, narrow, settings.narrow_width, p)));
      word |= value << shift;
    }
    sum[i] = word;
  }
};

}  // namespace

void promote_frames(const ThcSettings& settings, std::size_t frames,
                    const std::uint64_t* const* contributions, std::size_t contribution_count,
                    std::uint64_t* sum) {
  const bool nibbles = settings.narrow_width == 4 && settings.wide_width == 8 &&
                       settings.quantiser == ThcQuantiser::small && settings.intervals < 128;
  if (!nibbles)
    return promote_blocks(settings, frames, frame_size, contributions, contribution_count, 0, sum);
  const std::size_t words = frames * frame_side;
  launch(PromoteNibbles{.tiles = tiles_of(words, PromoteNibbles::threads),
                        .words = words,
                        .contributions = contributions,
                        .count = contribution_count,
                        .table = {settings.level_bytes[0], settings.level_bytes[1],
                                  settings.level_bytes[2], settings.level_bytes[3]},
                        .sum = sum});
}

void promote_blocks(const ThcSettings& settings, std::size_t blocks, std::size_t padded,
                    const std::uint64_t* const* contributions, std::size_t contribution_count,
                    std::size_t skipped, std::uint64_t* sum) {
  const std::size_t words = blocks * body::words_per_block(padded, settings.wide_width);
  launch(PromoteBlocks{.tiles = tiles_of(words, PromoteBlocks::threads),
                       .settings = settings,
                       .blocks = blocks,
                       .padded = padded,
                       .contributions = contributions,
                       .count = contribution_count,
                       .skipped = skipped,
                       .sum = sum});
}

}  // namespace cohom::kernels::device
