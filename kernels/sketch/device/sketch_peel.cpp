// Peeling. A block of threads takes a part, in rounds: all items that lie alone in a cell when a
// round begins are taken in it. Where several cells name the same item, that of the lowest row
// gives its value; they all have the same one, because integers are exact. So what is found in
// which round is the same however threads come, and what is left when nothing is found is what no
// order would have found.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sketch/device/sketch_rows.hpp"

namespace cohom::kernels::device {
namespace {

using Word = std::uint64_t;

/// The items that a cell holds: how many in the lower half, the sum of their numbers in the upper
/// one, which may wrap: of one item it is right.
COHOM_HD constexpr Word link_of(std::uint32_t item) { return Word{item} << 32 | 1; }
COHOM_HD constexpr std::uint32_t held_by(Word link) { return static_cast<std::uint32_t>(link); }
COHOM_HD constexpr std::uint32_t item_of(Word link) {
  return static_cast<std::uint32_t>(link >> 32);
}

/// What peeling works with, by cell or by item of the run.
struct Workspace {
  Word* links;
  Word* cells;
  std::uint32_t* queue;
  Word* values;
  std::uint8_t* known;
};

/// Tells cells of their items. Parts that are no sketches are done at once.
struct Link {
  static constexpr unsigned threads = sketch_threads;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 2;
  using Shared = SketchParts::Shared;
  using Local = Nothing;

  std::size_t tiles;
  SketchParts parts;
  Workspace work;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      parts.find_first(at, shared);
    } else {
      parts.for_each_item(at, shared,
                          [&](const SketchPart& part, std::size_t item) { tell(part, item); });
    }
  }

  COHOM_HD void tell(const SketchPart& part, std::size_t i) const {
    const auto item = static_cast<std::uint32_t>(i - part.first);
    if (part.plain) {
      work.values[i] = work.cells[part.first_cell + item];
      work.known[i] = 1;
      return;
    }
    const body::SketchPlace place = parts.place(part, item);
    COHOM_UNROLL
    for (std::uint32_t r = 0; r < body::sketch_rows; ++r)
      atomic_add(work.links + part.first_cell + place.cell(r), link_of(item));
  }
};

/// Cells that hold one item stand in a queue, those of a round behind those of the one before. A
/// cell comes to hold one item once at most, so there is room.
struct Peel {
  static constexpr unsigned threads = 1024;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 5;
  static constexpr int repeated_from = 2;
  struct Shared {
    std::uint32_t begin, end;  ///< of the queue, what the round looks at
    std::uint32_t tail;        ///< where the next cell goes
  };
  using Local = Nothing;

  std::size_t tiles;
  SketchParts parts;
  Workspace work;

  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      if (at.thread == 0) shared.begin = shared.end = shared.tail = 0;
    } else if constexpr (phase == 1) {
      find_singles(at, shared);
    } else if constexpr (phase == 2) {
      if (at.thread != 0) return;
      shared.begin = shared.end;
      shared.end = shared.tail;
    } else {
      const SketchPart& part = parts[at.tile];
      for (std::uint32_t q = shared.begin + at.thread; q < shared.end; q += threads)
        if constexpr (phase == 3)
          choose(part, q);
        else
          take(part, q, shared);
    }
  }

  /// The others are seen by who takes an item out of them.
  [[nodiscard]] COHOM_HD bool again(const Shared& shared) const {
    return shared.tail != shared.end;
  }

  COHOM_HD void find_singles(At at, Shared& shared) const {
    const SketchPart& part = parts[at.tile];
    if (part.plain || part.items == 0) return;
    const auto cells = static_cast<std::uint32_t>(part.cells());
    for (std::uint32_t c = at.thread; c < cells; c += threads)
      if (held_by(work.links[part.first_cell + c]) == 1) push(part, c, shared);
  }

  COHOM_HD void push(const SketchPart& part, std::uint32_t cell, Shared& shared) const {
    work.queue[part.first_cell + atomic_fetch_add(&shared.tail, 1)] = cell;
  }

  /// Strikes out cells that do not give their item's value: it was found meanwhile, or a lower row
  /// has it.
  COHOM_HD void choose(const SketchPart& part, std::uint32_t q) const {
    const Word* const links = work.links + part.first_cell;
    std::uint32_t& cell = work.queue[part.first_cell + q];
    const Word link = links[cell];
    bool takes = held_by(link) == 1;
    if (takes) {
      const body::SketchPlace place = parts.place(part, item_of(link));
      COHOM_UNROLL
      for (std::uint32_t r = 0; r + 1 < body::sketch_rows; ++r)
        if (place.cell(r) < cell && held_by(links[place.cell(r)]) == 1) takes = false;
    }
    if (!takes) cell = nothing;
  }

  /// The cell itself stays as it is: nobody else looks at it.
  COHOM_HD void take(const SketchPart& part, std::uint32_t q, Shared& shared) const {
    const std::uint32_t cell = work.queue[part.first_cell + q];
    if (cell == nothing) return;
    Word* const links = work.links + part.first_cell;
    Word* const cells = work.cells + part.first_cell;
    const Word value = cells[cell];
    const std::uint32_t item = item_of(links[cell]);
    const body::SketchPlace place = parts.place(part, item);
    work.values[part.first + item] = place.with_sign(value);
    work.known[part.first + item] = 1;
    COHOM_UNROLL
    for (std::uint32_t r = 0; r < body::sketch_rows; ++r) {
      const std::uint32_t other = place.cell(r);
      if (other == cell) continue;
      atomic_add(cells + other, 0 - value);
      if (held_by(atomic_fetch_add(links + other, 0 - link_of(item))) == 2)
        push(part, other, shared);
    }
  }
};

/// Values to elements, and how many there are none for.
template <class T>
struct FromCells {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t items;
  body::SketchIntegers<T> numbers;
  const Word* values;
  const std::uint8_t* known;
  T* elements;
  Word* left;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= items) return;
    if (known[i] != 0)
      store_element<T>(elements, i, numbers.value(values[i]));
    else
      atomic_add(left, Word{1});
  }
};

}  // namespace

std::size_t sketch_peel(const SketchRun& run, const Word* cells, std::uint8_t* known,
                        void* elements) {
  DeviceContext& context = begin_call();
  const std::size_t items = run.items(), count = run.cells();
  if (items == 0) return 0;
  expect_aligned(cells, 8, "sketch: cells");
  expect_aligned(run.names, 4, "sketch: names");
  expect_aligned(elements, size_of(run.format.type), "sketch: elements");
  expect_aligned(run.scratch, 8, "sketch: scratch");
  auto* const links = reinterpret_cast<Word*>(run.scratch);
  Word* const peeled = links + count;
  Word* const values = peeled + count;
  auto* const queue = reinterpret_cast<std::uint32_t*>(values + items);
  auto* const left = static_cast<Word*>(context.scratch(sizeof(Word)));
  const SketchParts parts(context, run);
  DeviceRuntime& runtime = context.runtime();
  runtime.fill(links, 0, 8 * count, context.stream());
  runtime.fill(known, 0, items, context.stream());
  runtime.fill(left, 0, sizeof(Word), context.stream());
  runtime.copy_within(peeled, cells, 8 * count, context.stream());
  const Workspace work{view(links), view(peeled), view(queue), view(values), view(known)};
  launch(Link{.tiles = parts.tiles(), .parts = parts, .work = work});
  launch(Peel{.tiles = parts.count(), .parts = parts, .work = work});
  with_integers(run.format, [&]<class T>(T, const body::SketchIntegers<T>& numbers) {
    launch(FromCells<T>{.tiles = tiles_of(items, FromCells<T>::threads),
                        .items = items,
                        .numbers = numbers,
                        .values = work.values,
                        .known = work.known,
                        .elements = view(static_cast<T*>(elements)),
                        .left = view(left)});
  });
  Word missing = 0;
  context.download(&missing, left, sizeof missing);
  return missing;
}

}  // namespace cohom::kernels::device
