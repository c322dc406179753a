// Encoding and decoding blocks that are no frames: other rotations than 256, and what is ragged. A tile is
// one large block or several small ones; up to 2048 values turn in shared memory, more in scratch.

#include "kernels/body/lanes.hpp"
#include "kernels/cuda/block_turns.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/thc_rows.hpp"

#include <algorithm>

namespace cohom::kernels::device {
namespace {

constexpr std::size_t shared_span = 2048;
constexpr std::size_t most_blocks = 64;  ///< of a tile
/// Scratch of one launch: so many tiles are in work at a time.
constexpr std::size_t most_scratch = std::size_t{32} << 20;

/// What encoding and decoding share.
template <class T>
struct BlockTile {
  using Real = Arithmetic<T>;

  struct Shared {
    alignas(16) Real values[shared_span];
    std::uint16_t lanes[shared_span];
    body::BlockScale<Real> scales[most_blocks];  ///< of encoding
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
  /// Of the block that value i of the tile is in; escaped behind the run's end.
  [[nodiscard]] COHOM_HD std::uint32_t code(At at, std::size_t i) const {
    const std::size_t block = i >> turns.log2_size;
    return first_element(at) + (block << turns.log2_size) < count ? codes[first_block(at) + block]
                                                                  : escaped_code;
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

template <class T>
struct EncodeBlocks {
  using Tile = BlockTile<T>;
  using Real = typename Tile::Real;
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  using Shared = typename Tile::Shared;
  using Local = Nothing;

  std::size_t tiles;
  Tile tile;
  const T* input;
  Real* feedback;
  bool wide;
  std::uint64_t* words;

  /// Scales, reading, strides, quantising, words; with feedback strides back and the rest.
  [[nodiscard]] COHOM_HD int phase_count() const {
    const auto strides = static_cast<int>(tile.turns.log2_size);
    return feedback == nullptr ? strides + 4 : 2 * strides + 5;
  }

  COHOM_HD void run(int all_phase, At at, Shared& shared, Local&) const {
    const auto strides = static_cast<int>(tile.turns.log2_size);
    Real* const values = tile.values_of(at, shared);
    const int phase = all_phase - 1;
    if (phase < 0) return find_scales(at, shared);
    if (phase == 0) return read(at, shared, values);
    if (phase <= strides)
      return tile.turns.turn(tile.turns.forward(static_cast<unsigned>(phase - 1)), at.thread,
                             threads, values);
    if (phase == strides + 1) return quantise(at, values, tile.lanes_of(at, shared));
    if (phase == strides + 2) return write(at, values, tile.lanes_of(at, shared));
    if (phase <= 2 * strides + 2)
      return tile.turns.turn(static_cast<unsigned>(phase - strides - 3), at.thread, threads,
                             values);
    keep_rest(at, values);
  }

  COHOM_HD void find_scales(At at, Shared& shared) const {
    const std::size_t blocks = tile.turns.span >> tile.turns.log2_size;
    for (std::size_t b = at.thread; b < blocks; b += threads) {
      const std::uint32_t code = tile.code(at, b << tile.turns.log2_size);
      if (!is_silent(code))
        shared.scales[b] =
            body::encode_scale_of(tile.settings.encode_scale, body::norm_of_code<Real>(code));
    }
  }

  COHOM_HD void read(At at, const Shared& shared, Real* values) const {
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads) {
      const std::size_t e = tile.first_element(at) + i;
      Real value = 0;
      if (!is_silent(tile.code(at, i)) && e < tile.count) {
        value = feedback != nullptr ? feedback[e] : element_at<T>(input, e);
        const body::BlockScale<Real> scale = shared.scales[i >> tile.turns.log2_size];
        value = (value * scale.power) * scale.factor;
      }
      values[i] = tile.flipped(at, i, value);
    }
  }

  /// lanes := indices, or levels where an index is none.
  COHOM_HD void quantise(At at, const Real* values, std::uint16_t* lanes) const {
    const ThcSettings& settings = tile.settings;
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads) {
      const std::uint64_t e = tile.number(at, i);
      const std::uint32_t position =
          body::grid_position(values[tile.coefficient(i)], settings.intervals);
      const std::uint32_t drawn = body::dither(body::frame(settings.dither_key, e / 256),
                                               static_cast<std::uint32_t>(e % 256));
      const std::uint32_t dither =
          ((drawn & settings.dither_mask) + settings.dither_offset(e / 256)) & 0xff;
      lanes[i] = is_silent(tile.code(at, i))
                     ? std::uint16_t{0}
                     : static_cast<std::uint16_t>(settings.index_or_level(position, dither));
    }
  }

  COHOM_HD void write(At at, Real* values, const std::uint16_t* lanes) const {
    const ThcSettings& settings = tile.settings;
    const unsigned width = wide ? settings.wide_width : settings.narrow_width;
    const std::size_t size = body::words_per_block(tile.padded, width);
    const std::size_t blocks = tile.turns.span >> tile.turns.log2_size;
    for (std::size_t w = at.thread; w < blocks * size; w += threads) {
      const std::size_t block = w / size, begin = block << tile.turns.log2_size;
      if (tile.first_element(at) + begin >= tile.count) break;
      const bool silent = is_silent(tile.code(at, begin));
      std::uint64_t word = 0;
      unsigned shift = 0;
      for (std::size_t p = w % size; !silent && p < tile.padded; p += size, shift += width) {
        const std::uint32_t lane = lanes[begin + p];
        word |= std::uint64_t{wide ? settings.level(lane) : lane} << shift;
      }
      words[tile.first_block(at) * size + w] = word;
    }
    if (feedback == nullptr) return;
    const auto bias = static_cast<std::int32_t>(settings.intervals);
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads)
      values[tile.coefficient(i)] =
          static_cast<Real>(2 * static_cast<std::int32_t>(settings.level(lanes[i])) - bias);
  }

  COHOM_HD void keep_rest(At at, const Real* values) const {
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads) {
      const std::size_t e = tile.first_element(at) + i;
      if (e >= tile.count || is_silent(tile.code(at, i))) continue;
      feedback[e] = feedback[e] - tile.restored(at, i, values[i]);
    }
  }
};

template <class T>
struct DecodeBlocks {
  using Tile = BlockTile<T>;
  using Real = typename Tile::Real;
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  using Shared = typename Tile::Shared;
  using Local = Nothing;

  std::size_t tiles;
  Tile tile;
  const std::uint64_t* sum;
  std::int64_t bias;
  Divider<Real> divided;
  T* output;

  /// Reading, strides, elements.
  [[nodiscard]] COHOM_HD int phase_count() const {
    return static_cast<int>(tile.turns.log2_size) + 2;
  }

  COHOM_HD void run(int phase, At at, Shared& shared, Local&) const {
    Real* const values = tile.values_of(at, shared);
    if (phase == 0) return read(at, values);
    if (phase <= static_cast<int>(tile.turns.log2_size))
      return tile.turns.turn(static_cast<unsigned>(phase - 1), at.thread, threads, values);
    write(at, values);
  }

  COHOM_HD void read(At at, Real* values) const {
    const unsigned width = tile.settings.wide_width;
    const std::size_t size = body::words_per_block(tile.padded, width);
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads) {
      const std::size_t block = i >> tile.turns.log2_size;
      Real value = 0;
      if (!is_silent(tile.code(at, i))) {
        const std::uint64_t lane = body::lane_at(sum + (tile.first_block(at) + block) * size, size,
                                                 width, i - (block << tile.turns.log2_size));
        value = static_cast<Real>(2 * static_cast<std::int64_t>(lane) - bias);
      }
      values[tile.coefficient(i)] = value;
    }
  }

  COHOM_HD void write(At at, const Real* values) const {
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads) {
      const std::size_t e = tile.first_element(at) + i;
      const std::uint32_t code = tile.code(at, i);
      if (e >= tile.count || code == escaped_code) continue;
      put_element<T>(output, e, code == 0 ? Real{0} : divided(tile.restored(at, i, values[i])));
    }
  }
};

/// Calls visit(tile, tiles, elements and blocks before them) for all tiles, in parts whose scratch fits.
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
    at_once = std::clamp<std::size_t>(most_scratch / bytes, 1, std::max<std::size_t>(tiles, 1));
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

}  // namespace

void encode_blocks(DeviceContext& context, const ThcSettings& settings, const BlockRun& run,
                   const void* input, void* feedback, const std::uint32_t* codes, Form form,
                   std::uint64_t* words) {
  const bool wide = form == Form::wide;
  const std::size_t size =
      body::words_per_block(run.padded, wide ? settings.wide_width : settings.narrow_width);
  body::with_element_type(run.type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    for_each_part<T>(
        context, settings, run, codes, true,
        [&](const BlockTile<T>& tile, std::size_t tiles, std::size_t elements, std::size_t blocks) {
          Real* const state = static_cast<Real*>(feedback);
          launch(EncodeBlocks<T>{.tiles = tiles,
                                 .tile = tile,
                                 .input = static_cast<const T*>(input) + elements,
                                 .feedback = state == nullptr ? nullptr : state + elements,
                                 .wide = wide,
                                 .words = words + blocks * size});
        });
  });
}

void decode_blocks(DeviceContext& context, const ThcSettings& settings, const BlockRun& run,
                   const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
                   std::uint64_t divisor, void* output) {
  const std::size_t size = body::words_per_block(run.padded, settings.wide_width);
  body::with_element_type(run.type, [&]<class T>(T) {
    for_each_part<T>(
        context, settings, run, codes, false,
        [&](const BlockTile<T>& tile, std::size_t tiles, std::size_t elements, std::size_t blocks) {
          launch(
              DecodeBlocks<T>{.tiles = tiles,
                              .tile = tile,
                              .sum = sum + blocks * size,
                              .bias = static_cast<std::int64_t>(contributions) * settings.intervals,
                              .divided = Divider<Arithmetic<T>>(divisor),
                              .output = static_cast<T*>(output) + elements});
        });
  });
}

}  // namespace cohom::kernels::device
