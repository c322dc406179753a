// Bloom filters. All arrays are device or pinned memory.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sparse/device/sparse_rows.hpp"
#include "kernels/sparse/sparse.hpp"

namespace cohom::kernels::device {
namespace {

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

void insert(const BloomShape& shape, std::size_t first, const std::uint64_t* bitmap,
            std::size_t count, std::uint64_t* filter) {
  begin_call();
  expect_aligned(bitmap, 8, "bloom: a bitmap");
  expect_aligned(filter, 8, "bloom: a filter");
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
  expect_aligned(filter, 8, "bloom: a filter");
  expect_aligned(bitmap, 8, "bloom: a bitmap");
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

BloomKernels bloom_row() { return {insert, find}; }

}  // namespace cohom::kernels::device
