#include "kernels/sketch/sketch.hpp"

#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace cohom::kernels {

using body::sketch_rows;

namespace {

/// The value or its negative, by bits.
template <class Cell>
Cell with_sign(SketchPlace place, Cell value) {
  if constexpr (std::is_integral_v<Cell>) {
    return place.with_sign(value);
  } else {
    using Bits = typename body::FloatFormat<Cell>::Bits;
    const Bits negative = place.negative() ? 1 : 0;
    return std::bit_cast<Cell>(std::bit_cast<Bits>(value) ^ negative << (8 * sizeof(Cell) - 1));
  }
}

}  // namespace

template <class Cell>
void sketch_insert(std::span<const SketchPlace> places, const Cell* values, Cell* cells) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Cell value = values[i];
    if (value == 0) continue;  // another rank's
    const SketchPlace place = places[i];
    const Cell signed_value = with_sign(place, value);
    for (std::uint32_t r = 0; r < sketch_rows; ++r) cells[place.cell(r)] += signed_value;
  }
}

namespace {

/// The items that a cell holds: how many in the upper half, the exclusive or of their numbers in
/// the lower. The smaller, the more of them are in the first cache.
template <class Link>
inline constexpr int half = 4 * sizeof(Link);
template <class Link>
inline constexpr Link one_item = Link{1} << half<Link>;

template <class Link>
bool holds_one(Link link) {
  return link >> half<Link> == 1;
}

/// Which items were found. All others share each of their cells with one another, and a found one
/// has a cell that it did not.
template <class Link>
void tell_known(std::span<const SketchPlace> places, const Link* links, std::size_t found,
                std::uint8_t* known) {
  std::fill_n(known, places.size(), std::uint8_t{1});
  if (found == places.size()) return;
  for (std::size_t i = 0; i < places.size(); ++i) {
    bool shared = true;
    for (std::uint32_t r = 0; r < sketch_rows; ++r)
      shared &= links[places[i].cell(r)] >= 2 * one_item<Link>;
    known[i] = shared ? 0 : 1;
  }
}

/// What find_singles() writes beyond the cells; offer() needs less.
constexpr std::size_t queue_padding = 16;

/// Cells that were seen to hold one item, first in first out. A cell falls to one item once at
/// most, so there is room. What comes next is always stored, and kept when it counts: a branch
/// would be a coin's.
template <class Link>
class Singles {
 public:
  /// `queue` holds the first `singles` cells.
  Singles(const Link* links, std::uint32_t* queue, std::size_t singles)
      : links_(links), queue_(queue), end_(singles) {}

  void offer(std::uint32_t cell) {
    queue_[end_] = cell;
    end_ += holds_one(links_[cell]) ? 1 : 0;
  }
  [[nodiscard]] bool empty() const { return next_ == end_; }
  [[nodiscard]] std::uint32_t pop() { return queue_[next_++]; }

 private:
  const Link* links_;
  std::uint32_t* queue_;
  std::size_t next_ = 0, end_;
};

std::size_t find_singles(const PlacingKernels& placing, const std::uint32_t* links,
                         std::size_t cells, std::uint32_t* queue) {
  return placing.find_singles(links, cells, queue);
}

std::size_t find_singles(const PlacingKernels&, const std::uint64_t* links, std::size_t cells,
                         std::uint32_t* queue) {
  std::size_t found = 0;
  for (std::size_t c = 0; c < cells; ++c)
    if (holds_one(links[c])) queue[found++] = static_cast<std::uint32_t>(c);
  return found;
}

/// The cells of an item in the other rows than that of `cell`, which is one of its own.
struct OtherCells {
  std::uint32_t first, second;

  OtherCells(SketchPlace place, std::uint32_t cell)
      : first(place.cell(0) == cell ? place.cell(1) : place.cell(0)),
        second(place.cell(2) == cell ? place.cell(1) : place.cell(2)) {}
};

template <class Link, class Cell>
std::size_t peel(const PlacingKernels& placing, std::span<const SketchPlace> places,
                 std::span<Cell> cells, Link* links, std::uint32_t* queue, std::uint8_t* known,
                 Cell* values) {
  std::fill_n(links, cells.size(), Link{0});
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::uint32_t r = 0; r < sketch_rows; ++r) {
      Link& link = links[places[i].cell(r)];
      link = (link ^ static_cast<Link>(i)) + one_item<Link>;
    }
  Singles<Link> singles(links, queue, find_singles(placing, links, cells.size(), queue));
  std::size_t found = 0;
  while (!singles.empty()) {
    const std::uint32_t cell = singles.pop();
    if (!holds_one(links[cell])) continue;  // its item was found in another row meanwhile
    const Link item = links[cell] - one_item<Link>;
    const SketchPlace place = places[item];
    const Cell value = cells[cell];
    values[item] = with_sign(place, value) + Cell{};  // no -0.0
    ++found;
    // `cell` stays as it is: it held nothing else.
    const OtherCells others(place, cell);
    for (const std::uint32_t other : {others.first, others.second}) {
      cells[other] -= value;
      links[other] = (links[other] ^ item) - one_item<Link>;
      singles.offer(other);
    }
  }
  tell_known(places, links, found, known);
  return places.size() - found;
}

}  // namespace

void SketchScratch::reserve(std::size_t cells) {
  links_.resize(cells);
  queue_.resize(cells + queue_padding);
}

template <class Cell>
std::size_t sketch_peel(std::span<const SketchPlace> places, std::span<Cell> cells,
                        SketchScratch& scratch, std::uint8_t* known, Cell* values) {
  const PlacingKernels& placing = *scratch.placing_;
  std::uint64_t* const links = scratch.links_.data();
  std::uint32_t* const queue = scratch.queue_.data();
  if (places.size() <= 0xffff)
    return peel(placing, places, cells, reinterpret_cast<std::uint32_t*>(links), queue, known,
                values);
  return peel(placing, places, cells, links, queue, known, values);
}

template void sketch_insert(std::span<const SketchPlace>, const float*, float*);
template void sketch_insert(std::span<const SketchPlace>, const double*, double*);
template void sketch_insert(std::span<const SketchPlace>, const std::uint64_t*, std::uint64_t*);
template std::size_t sketch_peel(std::span<const SketchPlace>, std::span<float>, SketchScratch&,
                                 std::uint8_t*, float*);
template std::size_t sketch_peel(std::span<const SketchPlace>, std::span<double>, SketchScratch&,
                                 std::uint8_t*, double*);
template std::size_t sketch_peel(std::span<const SketchPlace>, std::span<std::uint64_t>,
                                 SketchScratch&, std::uint8_t*, std::uint64_t*);

}  // namespace cohom::kernels
