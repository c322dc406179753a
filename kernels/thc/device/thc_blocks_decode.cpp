// Decoding blocks that are no frames.

#include "kernels/thc/device/thc_block_tile.hpp"

namespace cohom::kernels::device {
namespace {

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
      if (e >= tile.count || code == outlier_code) continue;
      store_element<T>(output, e, code == 0 ? Real{0} : divided(tile.restored(at, i, values[i])));
    }
  }
};

}  // namespace

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
