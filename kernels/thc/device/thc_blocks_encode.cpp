// Encoding blocks that are no frames.

#include "kernels/thc/device/thc_block_tile.hpp"

namespace cohom::kernels::device {
namespace {

/// The scales of blocks, for encoding: a division each.
template <class Real>
struct FindScales {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  double encode_scale;
  const std::uint32_t* codes;
  std::size_t blocks;
  body::BlockScale<Real>* scales;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i < blocks && !is_silent(codes[i]))
      scales[i] = body::encode_scale_of(encode_scale, body::norm_of_code<Real>(codes[i]));
  }
};

template <class Real>
const body::BlockScale<Real>* find_scales(DeviceContext& context, const ThcSettings& settings,
                                          const std::uint32_t* codes, std::size_t blocks) {
  using Scale = body::BlockScale<Real>;
  using Kernel = FindScales<Real>;
  auto* const scales = static_cast<Scale*>(view(context.scratch(blocks * sizeof(Scale))));
  launch(Kernel{.tiles = tiles_of(blocks, Kernel::threads),
                .encode_scale = settings.encode_scale,
                .codes = codes,
                .blocks = blocks,
                .scales = scales});
  return scales;
}

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
  const body::BlockScale<Real>* scales;
  const T* input;
  Real* feedback;
  bool wide;
  std::uint64_t* words;

  /// Reading, strides, quantising, words; with feedback strides back and the rest.
  [[nodiscard]] COHOM_HD int phase_count() const {
    const auto strides = static_cast<int>(tile.turns.log2_size);
    return feedback == nullptr ? strides + 3 : 2 * strides + 4;
  }

  COHOM_HD void run(int phase, At at, Shared& shared, Local&) const {
    const auto strides = static_cast<int>(tile.turns.log2_size);
    Real* const values = tile.values_of(at, shared);
    if (phase == 0) return read(at, values);
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

  COHOM_HD void read(At at, Real* values) const {
    for (std::size_t i = at.thread; i < tile.turns.span; i += threads) {
      const std::size_t e = tile.first_element(at) + i;
      Real value = 0;
      if (!is_silent(tile.code(at, i)) && e < tile.count) {
        value = feedback != nullptr ? feedback[e] : load_element<T>(input, e);
        const body::BlockScale<Real> scale =
            scales[tile.first_block(at) + (i >> tile.turns.log2_size)];
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

}  // namespace

void encode_blocks(DeviceContext& context, const ThcSettings& settings, const BlockRun& run,
                   const void* input, void* feedback, const std::uint32_t* codes, Form form,
                   std::uint64_t* words) {
  const bool wide = form == Form::wide;
  const std::size_t size =
      body::words_per_block(run.padded, wide ? settings.wide_width : settings.narrow_width);
  body::with_element_type(run.type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    const auto* const scales =
        find_scales<Real>(context, settings, codes, tiles_of(run.count, run.padded));
    for_each_part<T>(
        context, settings, run, codes, true,
        [&](const BlockTile<T>& tile, std::size_t tiles, std::size_t elements, std::size_t blocks) {
          Real* const state = static_cast<Real*>(feedback);
          launch(EncodeBlocks<T>{.tiles = tiles,
                                 .tile = tile,
                                 .scales = scales + blocks,
                                 .input = static_cast<const T*>(input) + elements,
                                 .feedback = state == nullptr ? nullptr : state + elements,
                                 .wide = wide,
                                 .words = words + blocks * size});
        });
  });
}

}  // namespace cohom::kernels::device
