// Bitmaps of elements that are not zero, and the elements that a bitmap selects. A tile is 256
// words of a bitmap: 16384 elements.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/device_runtime/prefix.hpp"
#include "kernels/sparse/device/sparse_rows.hpp"

namespace cohom::kernels::device {
namespace {

using Word = std::uint64_t;

constexpr unsigned tile_threads = 256;
constexpr std::size_t tile_words = 256;
constexpr std::size_t sparse_tile_elements = 64 * tile_words;

/// A thread looks at 16 bytes at a time, and puts a bit for each element into a byte; then bytes
/// become words.
template <class T>
struct Scan {
  static constexpr unsigned threads = tile_threads;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 2;
  static constexpr unsigned pack = Pack<T>::size;
  static constexpr std::size_t packs = sparse_tile_elements / pack;
  struct Shared {
    alignas(16) std::uint8_t bits[packs];
  };
  using Local = Nothing;

  std::size_t tiles;
  const T* elements;
  std::size_t count;
  bool packed;
  Word* bitmap;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    const std::size_t first = at.tile * sparse_tile_elements;
    if constexpr (phase == 0) {
      COHOM_UNROLL
      for (std::size_t p = at.thread; p < packs; p += threads)
        shared.bits[p] = bits_of_pack(first + p * pack);
    } else {
      const std::size_t word = at.tile * tile_words + at.thread;
      if (64 * word >= count) return;
      Word bits = 0;
      COHOM_UNROLL
      for (unsigned k = 0; k < 64 / pack; ++k)
        bits |= Word{shared.bits[at.thread * (64 / pack) + k]} << (k * pack);
      bitmap[word] = bits;
    }
  }

  /// Apart from the shift: of (x != 0 ? 1u : 0u) << i, GCC 12 with its sanitizer of undefined
  /// behaviour makes a shift by what i was where x was not zero last.
  [[nodiscard]] COHOM_HD static std::uint32_t bit_of(T element) { return element != 0 ? 1 : 0; }

  [[nodiscard]] COHOM_HD std::uint8_t bits_of_pack(std::size_t first) const {
    std::uint32_t bits = 0;
    if (packed && first + pack <= count) {
      const Pack<T> read = reinterpret_cast<const Pack<T>*>(elements)[first / pack];
      COHOM_UNROLL
      for (unsigned i = 0; i < pack; ++i) bits |= bit_of(read.values[i]) << i;
    } else {
      for (unsigned i = 0; i < pack && first + i < count; ++i)
        bits |= bit_of(elements[first + i]) << i;
    }
    return static_cast<std::uint8_t>(bits);
  }
};

/// Bits of every tile of a bitmap.
struct CountTiles {
  static constexpr unsigned threads = tile_threads;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 3;
  using Shared = BlockPrefix<std::uint32_t>;
  using Local = Nothing;

  std::size_t tiles;
  const Word* words;
  std::size_t count;
  Word* counts;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      const std::size_t word = at.tile * tile_words + at.thread;
      shared.put(at.thread, word < count ? count_ones(words[word]) : 0);
    }
    if constexpr (phase == 1) shared.group(at.thread);
    if constexpr (phase == 2) {
      shared.root(at.thread);
      if (at.thread == 0) counts[at.tile] = shared.all;
    }
  }
};

/// Where the selected elements of each tile begin, and behind the last tile how many there are.
Word* count_tiles(DeviceContext& context, const Word* words, std::size_t count) {
  const std::size_t tiles = tiles_of(count, tile_words);
  auto* const counts = view(static_cast<Word*>(context.scratch((tiles + 1) * sizeof(Word))));
  launch(CountTiles{.tiles = tiles, .words = words, .count = count, .counts = counts});
  sum_up(counts, tiles);
  return counts;
}

/// Moves elements between their places and those side by side. A thread has every 256th element of
/// a tile, so neighbours read and write side by side.
template <class T, bool expands>
struct Select {
  static constexpr unsigned threads = tile_threads;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 5;
  using Local = Nothing;
  struct Shared {
    BlockPrefix<std::uint32_t> prefix;
    Word words[tile_words];
    std::uint32_t offsets[tile_words];
  };

  std::size_t tiles;
  std::size_t count;
  const Word* bitmap;
  const Word* offsets;  ///< of the tiles
  const T* from;
  T* to;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      const std::size_t word = at.tile * tile_words + at.thread;
      const Word bits = 64 * word < count ? bitmap[word] : 0;
      shared.words[at.thread] = bits;
      shared.prefix.put(at.thread, count_ones(bits));
    }
    if constexpr (phase == 1) shared.prefix.group(at.thread);
    if constexpr (phase == 2) shared.prefix.root(at.thread);
    if constexpr (phase == 3) shared.offsets[at.thread] = shared.prefix.get(at.thread);
    if constexpr (phase == 4) move(at, shared);
  }

  COHOM_HD void move(At at, const Shared& shared) const {
    const std::size_t first = at.tile * sparse_tile_elements;
    const std::size_t begin = offsets[at.tile];
    for (unsigned i = at.thread; i < sparse_tile_elements && first + i < count; i += threads) {
      const Word bits = shared.words[i / 64];
      const bool selected = (bits >> (i % 64) & 1) != 0;
      const std::size_t place =
          begin + shared.offsets[i / 64] + count_ones(bits & ((Word{1} << (i % 64)) - 1));
      if constexpr (expands)
        to[first + i] = selected ? from[place] : T{0};
      else if (selected)
        to[place] = from[first + i];
    }
  }
};

void scan(const SparseRun& run, const void* elements, Word* bitmap) {
  begin_call();
  if (run.count == 0) return;
  expect_aligned(elements, run.element_bytes, "sparse: elements");
  expect_aligned(bitmap, 8, "sparse: a bitmap");
  with_bits_type(run.element_bytes, [&]<class T>(T) {
    launch(Scan<T>{.tiles = tiles_of(run.count, sparse_tile_elements),
                   .elements = view(static_cast<const T*>(elements)),
                   .count = run.count,
                   .packed = aligned_to(elements, 16),
                   .bitmap = view(bitmap)});
  });
}

std::size_t count_bits(const Word* words, std::size_t count) {
  DeviceContext& context = begin_call();
  if (count == 0) return 0;
  expect_aligned(words, 8, "sparse: a bitmap");
  const std::size_t tiles = tiles_of(count, tile_words);
  auto* const counts = static_cast<Word*>(context.scratch((tiles + 1) * sizeof(Word)));
  launch(CountTiles{.tiles = tiles, .words = view(words), .count = count, .counts = view(counts)});
  if (tiles > 1) sum_up(view(counts), tiles);
  Word found = 0;
  context.download(&found, counts + (tiles > 1 ? tiles : 0), sizeof found);
  return found;
}

template <bool expands>
void select(const SparseRun& run, const void* from, const Word* bitmap, void* to) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(from, run.element_bytes, "sparse: elements");
  expect_aligned(to, run.element_bytes, "sparse: elements");
  expect_aligned(bitmap, 8, "sparse: a bitmap");
  const Word* const bits = view(bitmap);
  const Word* const offsets = count_tiles(context, bits, bitmap_words(run.count));
  with_bits_type(run.element_bytes, [&]<class T>(T) {
    launch(Select<T, expands>{.tiles = tiles_of(run.count, sparse_tile_elements),
                              .count = run.count,
                              .bitmap = bits,
                              .offsets = offsets,
                              .from = view(static_cast<const T*>(from)),
                              .to = view(static_cast<T*>(to))});
  });
}

void compact(const SparseRun& run, const void* elements, const Word* bitmap, void* compacted) {
  select<false>(run, elements, bitmap, compacted);
}

void expand(const SparseRun& run, const void* compacted, const Word* bitmap, void* elements) {
  select<true>(run, compacted, bitmap, elements);
}

}  // namespace

SparseKernels sparse_row() { return {scan, count_bits, compact, expand}; }

}  // namespace cohom::kernels::device
