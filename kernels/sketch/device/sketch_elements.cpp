// Elements of sketches apart from their cells: those that are looked for one by one.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sketch/device/sketch_rows.hpp"

#include <algorithm>

namespace cohom::kernels::device {
namespace {

template <class T>
struct KeepUnknown {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  const std::uint8_t* known;
  std::size_t items;
  const T* from;
  T* to;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i < items && known[i] == 0) to[i] = from[i];
  }
};

/// Between their places and those side by side.
template <class T, bool scatters>
struct MoveAnywhere {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  const std::size_t* positions;
  std::size_t count;
  const T* from;
  T* to;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= count) return;
    if constexpr (scatters)
      to[positions[i]] = from[i];
    else
      to[i] = from[positions[i]];
  }
};

/// So many at a time, for which there is always scratch.
constexpr std::size_t max_moved = 4096;

template <bool scatters>
void move_anywhere(DeviceContext& context, std::size_t element_bytes, const void* from,
                   const std::size_t* positions, std::size_t count, void* to) {
  const void* const where = context.upload(positions, count * sizeof *positions);
  with_bits_type(element_bytes, [&]<class T>(T) {
    using Move = MoveAnywhere<T, scatters>;
    launch(Move{.tiles = tiles_of(count, Move::threads),
                .positions = view(static_cast<const std::size_t*>(where)),
                .count = count,
                .from = view(static_cast<const T*>(from)),
                .to = view(static_cast<T*>(to))});
  });
}

void keep_unknown(std::size_t element_bytes, const std::uint8_t* known, std::size_t items,
                  const void* from, void* to) {
  begin_call();
  expect_aligned(from, element_bytes, "sketch: elements");
  expect_aligned(to, element_bytes, "sketch: elements");
  with_bits_type(element_bytes, [&]<class T>(T) {
    launch(KeepUnknown<T>{.tiles = tiles_of(items, KeepUnknown<T>::threads),
                          .known = view(known),
                          .items = items,
                          .from = view(static_cast<const T*>(from)),
                          .to = view(static_cast<T*>(to))});
  });
}

void gather(std::size_t element_bytes, const void* elements, const std::size_t* positions,
            std::size_t count, void* gathered) {
  expect_aligned(elements, element_bytes, "sketch: elements");
  for (std::size_t done = 0; done < count; done += max_moved) {
    DeviceContext& context = begin_call();
    const std::size_t now = std::min(max_moved, count - done);
    void* const there = context.scratch(now * element_bytes);
    move_anywhere<false>(context, element_bytes, elements, positions + done, now, there);
    context.download(static_cast<std::byte*>(gathered) + done * element_bytes, there,
                     now * element_bytes);
  }
}

void scatter(std::size_t element_bytes, const void* gathered, const std::size_t* positions,
             std::size_t count, void* elements) {
  expect_aligned(elements, element_bytes, "sketch: elements");
  for (std::size_t done = 0; done < count; done += max_moved) {
    DeviceContext& context = begin_call();
    const std::size_t now = std::min(max_moved, count - done);
    const void* const there = context.upload(
        static_cast<const std::byte*>(gathered) + done * element_bytes, now * element_bytes);
    move_anywhere<true>(context, element_bytes, there, positions + done, now, elements);
  }
}

}  // namespace

SketchKernels sketch_row() { return {sketch_insert, sketch_peel, keep_unknown, gather, scatter}; }

}  // namespace cohom::kernels::device
