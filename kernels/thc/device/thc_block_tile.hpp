#pragma once
// Blocks that are no frames: other rotations than 256, and what is ragged. A tile is one large
// block or several small ones; up to 2048 values turn in shared memory, more in scratch.

#include "kernels/core/body/lanes.hpp"
#include "kernels/device_runtime/block_turns.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/device/thc_rows.hpp"

#include <algorithm>

namespace cohom::kernels::device {

inline constexpr std::size_t shared_span = thc_shared_span;

/// What encoding and decoding share.
template <class T>
struct BlockTile {
  using Real = Arithmetic<T>;

  struct Shared {
    alignas(16) Real values[shared_span];
    std::uint16_t lanes[shared_span];
  };

  ThcSettings settings;
  BlockTurns turns;
  std::size_t padded;
  std::size_t first;  ///< element of the vector where the run begins
  std::size_t count;
  const std::uint32_t* codes;
  Real* values = nullptr;          ///< null: shared memory
  std::uint16_t* lanes = nullptr;  ///< likewise

  [[nodiscard]] COHOM_HD Real* values_of(At at, Shared& shared) const {
    return values == nullptr ? shared.values : values + at.tile * turns.span;
  }
  [[nodiscard]] COHOM_HD std::uint16_t* lanes_of(At at, Shared& shared) const {
    return lanes == nullptr ? shared.lanes : lanes + at.tile * turns.span;
  }
  /// Of the tile's first one, in the run.
  [[nodiscard]] COHOM_HD std::size_t first_element(At at) const { return at.tile * turns.span; }
  [[nodiscard]] COHOM_HD std::size_t first_block(At at) const {
    return at.tile * (turns.span >> turns.log2_size);
  }
  /// Of the block that value i of the tile is in; an outlier behind the run's end.
  [[nodiscard]] COHOM_HD std::uint32_t code(At at, std::size_t i) const {
    const std::size_t block = i >> turns.log2_size;
    return first_element(at) + (block << turns.log2_size) < count ? codes[first_block(at) + block]
                                                                  : outlier_code;
  }
  /// Number in the vector of value i.
  [[nodiscard]] COHOM_HD std::uint64_t number(At at, std::size_t i) const {
    return first + first_element(at) + i;
  }
  [[nodiscard]] COHOM_HD Real flipped(At at, std::size_t i, Real value) const {
    const std::uint64_t e = number(at, i);
    return body::flip_sign(value, body::negated(body::frame(settings.sign_key, e / 256),
                                                static_cast<std::uint32_t>(e % 256)));
  }
  /// Where the coefficient of position i is.
  [[nodiscard]] COHOM_HD std::size_t coefficient(std::size_t i) const {
    const std::size_t block = i >> turns.log2_size << turns.log2_size;
    return block + body::position_of(i - block, padded);
  }
  [[nodiscard]] COHOM_HD Real restored(At at, std::size_t i, Real value) const {
    const auto scale =
        body::decode_scale_of(settings.decode_scale, padded, body::norm_of_code<Real>(code(at, i)));
    return (flipped(at, i, value) * scale.factor) * scale.power;
  }
};

/// Calls visit(tile, tiles, elements and blocks before them) for all tiles, in parts whose scratch
/// fits.
template <class T, class Visit>
void for_each_part(DeviceContext& context, const ThcSettings& settings, const BlockRun& run,
                   const std::uint32_t* codes, bool needs_lanes, Visit visit) {
  using Real = Arithmetic<T>;
  const std::size_t span =
      run.count < run.padded ? run.padded : std::max<std::size_t>(run.padded, 1024);
  const std::size_t tiles = tiles_of(run.count, span);
  BlockTile<T> tile{.settings = settings,
                    .turns = BlockTurns(span, run.padded),
                    .padded = run.padded,
                    .first = run.first,
                    .count = run.count,
                    .codes = codes};
  std::size_t at_once = tiles;
  if (span > shared_span) {
    const std::size_t bytes = span * (sizeof(Real) + (needs_lanes ? 2 : 0));
    at_once = std::clamp<std::size_t>(thc_max_scratch / bytes, 1, std::max<std::size_t>(tiles, 1));
    tile.values = static_cast<Real*>(view(context.scratch(at_once * span * sizeof(Real))));
    if (needs_lanes)
      tile.lanes = static_cast<std::uint16_t*>(view(context.scratch(at_once * span * 2)));
  }
  for (std::size_t done = 0; done < tiles; done += at_once) {
    const std::size_t before = done * span;
    tile.first = run.first + before;
    tile.count = run.count - before;
    tile.codes = codes + before / run.padded;
    visit(tile, std::min(at_once, tiles - done), before, before / run.padded);
  }
}

}  // namespace cohom::kernels::device
