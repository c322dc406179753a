// Hashing elements. All arrays are device or pinned memory.

#include "kernels/cuda/current_context.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/intrinsics.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/prefix.hpp"
#include "kernels/cuda/rows.hpp"
#include "kernels/sparse.hpp"

namespace cohom::kernels::device {
namespace {

struct Places {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  SketchShape shape;
  const std::uint32_t* names;
  std::size_t items;
  SketchPlace* places;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i < items)
      places[i] = SketchPlace(shape, names != nullptr ? names[i] : static_cast<std::uint32_t>(i));
  }
};

/// Counts the singles of every tile, and then, when it is known where they go, writes them.
template <bool writes>
struct FindSingles {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 4;
  using Shared = BlockPrefix<std::uint32_t>;
  using Local = Nothing;

  std::size_t tiles;
  const std::uint32_t* links;
  std::size_t count;
  std::uint64_t* offsets;  ///< by tile: how many there are, and then how many there are before
  std::uint32_t* numbers;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    const bool single = i < count && links[i] >> 16 == 1;
    if constexpr (phase == 0) shared.put(at.thread, single ? 1 : 0);
    if constexpr (phase == 1) shared.group(at.thread);
    if constexpr (phase == 2) shared.root(at.thread);
    if constexpr (phase == 3) {
      if (writes && single)
        numbers[offsets[at.tile] + shared.get(at.thread)] = static_cast<std::uint32_t>(i);
      if (!writes && at.thread == 0) offsets[at.tile] = shared.all;
    }
  }
};

COHOM_HD inline body::BloomProbe probe_of(const BloomShape& shape, std::size_t element) {
  return {body::frame(shape.key, element / 256), static_cast<std::uint32_t>(element % 256)};
}

struct InsertIntoFilter {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  BloomShape shape;
  std::size_t first;
  const std::uint64_t* bitmap;
  std::size_t count;
  std::uint32_t* filter;  ///< halves of its words, the lower one first

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= count || (bitmap[i / 64] >> (i % 64) & 1) == 0) return;
    body::BloomProbe probe = probe_of(shape, first + i);
    for (std::uint32_t p = 0; p < shape.probes; ++p) {
      const std::uint32_t bit = probe.next(shape.bits);
      atomic_or(filter + bit / 32, std::uint32_t{1} << bit % 32);
    }
  }
};

/// A thread finds eight elements, a byte of the bitmap.
struct FindInFilter {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  BloomShape shape;
  const std::uint64_t* filter;
  std::size_t first;
  std::size_t count;
  std::uint8_t* bitmap;
  std::size_t bytes;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= bytes) return;
    std::uint32_t bits = 0;
    for (unsigned k = 0; k < 8 && 8 * i + k < count; ++k)
      bits |= std::uint32_t{may_hold(first + 8 * i + k)} << k;
    bitmap[i] = static_cast<std::uint8_t>(bits);
  }

  [[nodiscard]] COHOM_HD bool may_hold(std::size_t element) const {
    body::BloomProbe probe = probe_of(shape, element);
    for (std::uint32_t p = 0; p < shape.probes; ++p) {
      const std::uint32_t bit = probe.next(shape.bits);
      if ((filter[bit / 64] >> bit % 64 & 1) == 0) return false;
    }
    return true;
  }
};

void places(const SketchShape& shape, const std::uint32_t* names, std::size_t items,
            SketchPlace* places) {
  begin_call();
  expect_aligned(names, 4, "hashing: names");
  expect_aligned(places, 8, "hashing: places");
  launch(Places{.tiles = tiles_of(items, Places::threads),
                .shape = shape,
                .names = view(names),
                .items = items,
                .places = view(places)});
}

std::size_t find_singles(const std::uint32_t* links, std::size_t count, std::uint32_t* numbers) {
  DeviceContext& context = begin_call();
  if (count == 0) return 0;
  expect_aligned(links, 4, "hashing: links");
  expect_aligned(numbers, 4, "hashing: numbers");
  const std::size_t tiles = tiles_of(count, FindSingles<false>::threads);
  auto* const offsets = static_cast<std::uint64_t*>(context.scratch((tiles + 1) * 8));
  launch(FindSingles<false>{tiles, view(links), count, view(offsets), view(numbers)});
  sum_up(view(offsets), tiles);
  launch(FindSingles<true>{tiles, view(links), count, view(offsets), view(numbers)});
  std::uint64_t found = 0;
  context.download(&found, offsets + tiles, sizeof found);
  return found;
}

void insert(const BloomShape& shape, std::size_t first, const std::uint64_t* bitmap,
            std::size_t count, std::uint64_t* filter) {
  begin_call();
  expect_aligned(bitmap, 8, "hashing: a bitmap");
  expect_aligned(filter, 8, "hashing: a filter");
  launch(InsertIntoFilter{.tiles = tiles_of(count, InsertIntoFilter::threads),
                          .shape = shape,
                          .first = first,
                          .bitmap = view(bitmap),
                          .count = count,
                          .filter = reinterpret_cast<std::uint32_t*>(view(filter))});
}

void find(const BloomShape& shape, const std::uint64_t* filter, std::size_t first,
          std::size_t count, std::uint64_t* bitmap) {
  begin_call();
  expect_aligned(filter, 8, "hashing: a filter");
  expect_aligned(bitmap, 8, "hashing: a bitmap");
  const std::size_t bytes = 8 * bitmap_words(count);
  launch(FindInFilter{.tiles = tiles_of(bytes, FindInFilter::threads),
                      .shape = shape,
                      .filter = view(filter),
                      .first = first,
                      .count = count,
                      .bitmap = reinterpret_cast<std::uint8_t*>(view(bitmap)),
                      .bytes = bytes});
}

}  // namespace

HashingKernels hashing_row() { return {places, find_singles, insert, find}; }

}  // namespace cohom::kernels::device
