#include "kernels/sketch.hpp"

#include <algorithm>

namespace cohom::kernels {

template <class Cell>
void sketch_insert(const SketchShape& shape, std::size_t items, const Cell* values, Cell* cells) {
  for (std::size_t i = 0; i < items; ++i) {
    const Cell value = values[i];
    if (value == 0) continue;  // another rank's
    const SketchPlace place(shape, static_cast<std::uint32_t>(i));
    const Cell signed_value = place.negative ? Cell{} - value : value;
    for (std::size_t r = 0; r < sketch_rows; ++r) cells[place.cell[r]] += signed_value;
  }
}

namespace {

/// The items that a cell holds: how many in the upper half, the exclusive or of their numbers in the lower.
/// The smaller, the more of them are in the first cache.
template <class Link>
inline constexpr int half = 4 * sizeof(Link);
template <class Link>
inline constexpr Link one_item = Link{1} << half<Link>;

template <class Link>
bool holds_one(Link link) {
  return link >> half<Link> == 1;
}

template <class Link, class Cell>
std::size_t peel(const SketchShape& shape, Link* links, std::uint32_t* queue, Cell* cells,
                 std::span<std::uint8_t> known, Cell* values) {
  const std::size_t items = known.size();
  std::fill_n(links, shape.cells(), Link{0});
  for (std::size_t i = 0; i < items; ++i) {
    const SketchPlace place(shape, static_cast<std::uint32_t>(i));
    for (const std::uint32_t cell : place.cell)
      links[cell] = (links[cell] ^ static_cast<Link>(i)) + one_item<Link>;
  }
  std::ranges::fill(known, std::uint8_t{0});
  // A cell falls to one item once at most, so the queue has room. What comes next is always stored, and
  // kept when it counts: a branch would be a coin's.
  std::size_t end = 0;
  const auto offer = [&](std::size_t cell) {
    queue[end] = static_cast<std::uint32_t>(cell);
    end += holds_one(links[cell]) ? 1 : 0;
  };
  for (std::size_t c = 0; c < shape.cells(); ++c) offer(c);
  std::size_t found = 0;
  for (std::size_t next = 0; next < end; ++next) {
    const std::uint32_t cell = queue[next];
    if (!holds_one(links[cell])) continue;  // its item was found in another row meanwhile
    const Link item = links[cell] - one_item<Link>;
    const SketchPlace place(shape, static_cast<std::uint32_t>(item));
    const Cell value = cells[cell];
    values[item] = place.negative ? Cell{} - value : value;
    known[item] = 1;
    ++found;
    for (const std::uint32_t other : place.cell) {
      cells[other] -= value;
      links[other] = (links[other] ^ item) - one_item<Link>;
      offer(other);
    }
  }
  return items - found;
}

}  // namespace

void SketchScratch::reserve(std::size_t cells) {
  links_.resize(cells);
  queue_.resize(cells + 1);
}

template <class Cell>
std::size_t sketch_peel(const SketchShape& shape, Cell* cells, SketchScratch& scratch,
                        std::span<std::uint8_t> known, Cell* values) {
  std::uint64_t* const links = scratch.links_.data();
  std::uint32_t* const queue = scratch.queue_.data();
  if (known.size() <= 0xffff)
    return peel(shape, reinterpret_cast<std::uint32_t*>(links), queue, cells, known, values);
  return peel(shape, links, queue, cells, known, values);
}

template void sketch_insert(const SketchShape&, std::size_t, const float*, float*);
template void sketch_insert(const SketchShape&, std::size_t, const double*, double*);
template void sketch_insert(const SketchShape&, std::size_t, const std::uint64_t*, std::uint64_t*);
template std::size_t sketch_peel(const SketchShape&, float*, SketchScratch&,
                                 std::span<std::uint8_t>, float*);
template std::size_t sketch_peel(const SketchShape&, double*, SketchScratch&,
                                 std::span<std::uint8_t>, double*);
template std::size_t sketch_peel(const SketchShape&, std::uint64_t*, SketchScratch&,
                                 std::span<std::uint8_t>, std::uint64_t*);

}  // namespace cohom::kernels
