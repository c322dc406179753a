// Elements into the cells of their places, in any order.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sketch/device/sketch_rows.hpp"

namespace cohom::kernels::device {

SketchParts::SketchParts(DeviceContext& context, const SketchRun& run)
    : parts_(view(static_cast<const SketchPart*>(
          context.upload(run.parts.data(), run.parts.size_bytes())))),
      count_(run.parts.size()),
      names_(view(run.names)),
      items_(run.items()) {}

namespace {

template <class T>
struct Insert {
  static constexpr unsigned threads = sketch_threads;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 2;
  using Shared = SketchParts::Shared;
  using Local = Nothing;

  std::size_t tiles;
  SketchParts parts;
  body::SketchIntegers<T> numbers;
  const T* elements;
  std::uint64_t* cells;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      parts.find_first(at, shared);
    } else {
      parts.for_each_item(at, shared, [&](const SketchPart& part, std::size_t item) {
        const std::uint64_t number = numbers.cell_or_zero(load_element<T>(elements, item));
        if (number != 0) add(part, item, number);
      });
    }
  }

  COHOM_HD void add(const SketchPart& part, std::size_t item, std::uint64_t number) const {
    std::uint64_t* const own = cells + part.first_cell;
    if (part.plain) {
      own[item - part.first] = number;
      return;
    }
    const body::SketchPlace place =
        parts.place(part, static_cast<std::uint32_t>(item - part.first));
    COHOM_UNROLL
    for (std::uint32_t r = 0; r < body::sketch_rows; ++r)
      atomic_add(own + place.cell(r), place.with_sign(number));
  }
};

}  // namespace

void sketch_insert(const SketchRun& run, const void* elements, std::uint64_t* cells) {
  DeviceContext& context = begin_call();
  if (run.cells() == 0) return;
  expect_aligned(elements, size_of(run.format.type), "sketch: elements");
  expect_aligned(run.names, 4, "sketch: names");
  expect_aligned(cells, 8, "sketch: cells");
  context.runtime().fill(cells, 0, 8 * run.cells(), context.stream());
  const SketchParts parts(context, run);
  with_integers(run.format, [&]<class T>(T, const body::SketchIntegers<T>& numbers) {
    launch(Insert<T>{.tiles = parts.tiles(),
                     .parts = parts,
                     .numbers = numbers,
                     .elements = view(static_cast<const T*>(elements)),
                     .cells = view(cells)});
  });
}

}  // namespace cohom::kernels::device
