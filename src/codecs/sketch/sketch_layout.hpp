#pragma once
// Where the cells of a piece lie: it is cut into instances, each a sketch of its own, as equal as
// they can be. Specified in docs/wire-format.md, "sketch".
//
// With `gamma` the union is cut, and has gamma cells an element. With `size` the piece is cut, and
// the length of its sketches does not depend on the union: cells can be made before it is known.

#include "codecs/common/codec.hpp"
#include "codecs/common/index/sparse_index.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/sketch/body/sketch_place.hpp"
#include "kernels/sparse/sparse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cohom {

/// A run of positions, and their cells.
struct SketchInstance {
  std::size_t first = 0;  ///< of its positions, counted in the piece
  std::size_t items = 0;  ///< positions
  bool plain = false;     ///< the items themselves, one a cell: too few to be sketched
  bool by_position = false;
  std::size_t first_element = 0, elements = 0;  ///< of the piece, where items go by position
  kernels::SketchShape shape = {};

  [[nodiscard]] std::size_t cells() const { return plain ? items : shape.cells(); }
};

class SketchLayout {
 public:
  /// Items of an instance, at least, where there are so many: small ones fail to peel more often,
  /// large ones do not fit the caches. All others have less than twice as many. (With `size`:
  /// cells.)
  static constexpr std::size_t instance_items = 8192;
  static constexpr std::size_t min_items = 256;

  /// `size` is 0 for sketches of gamma cells an element of the union.
  SketchLayout(double gamma, double size) : gamma_(gamma), size_(size) {}
  void set_key(std::uint64_t key) { key_ = key; }

  [[nodiscard]] bool by_position() const { return size_ != 0; }

  /// Calls visit(instance) for each instance of a piece with values at these positions.
  template <class Visit>
  void for_each_instance(const Piece& piece, const SparseIndex::Union& positions,
                         Visit&& visit) const {
    if (!by_position()) return cut_union(piece.first, positions.elements, visit);
    std::size_t first = 0;
    cut_piece(piece.first, piece.count, [&](SketchInstance instance) {
      const std::uint64_t* const bits = positions.bits + instance.first_element / 64;
      instance.first = first;
      for (std::size_t w = 0; w < kernels::bitmap_words(instance.elements); ++w)
        instance.items += static_cast<std::size_t>(std::popcount(bits[w]));
      first += instance.items;
      visit(instance);
    });
  }

  /// Of a piece with so many elements in its union.
  [[nodiscard]] std::size_t cells(const Piece& piece, std::size_t items) const {
    if (by_position()) return cells_by_position(piece.count);
    std::size_t cells = 0;
    cut_union(piece.first, items,
              [&](const SketchInstance& instance) { cells += instance.cells(); });
    return cells;
  }

  /// The most that a piece of so many elements can take; by position, what it takes. Of lengths
  /// that no memory holds, too many for any.
  [[nodiscard]] std::size_t max_cells(std::size_t elements) const {
    if (by_position()) return cells_by_position(elements);
    const std::size_t instances = elements / instance_items + 1;
    const auto sketched = static_cast<std::size_t>(std::ceil(share_of(gamma_, elements)));
    return std::max(sketched + 3 * instances, elements);
  }
  /// Of any instance of a piece of at most so many elements.
  [[nodiscard]] std::size_t max_cells_of_instance(std::size_t elements) const {
    return max_cells(max_items_of_instance(elements));
  }
  [[nodiscard]] std::size_t max_items_of_instance(std::size_t elements) const {
    if (!by_position()) return std::min(elements, 2 * instance_items);
    // The elements of twice so many cells, rounded up to words on both sides.
    const double most = 2 * static_cast<double>(instance_items + 1) / size_ + 128;
    return most < static_cast<double>(elements) ? static_cast<std::size_t>(most) : elements;
  }
  [[nodiscard]] std::size_t max_instances(std::size_t elements) const {
    return by_position() ? instances_by_position(elements) : elements / instance_items + 1;
  }

 private:
  template <class Visit>
  void cut_union(std::size_t first, std::size_t items, Visit&& visit) const {
    const std::size_t instances = std::max<std::size_t>(items / instance_items, 1);
    for (std::size_t i = 0; i < instances; ++i) {
      const std::size_t begin = items * i / instances;
      const std::size_t count = items * (i + 1) / instances - begin;
      visit(SketchInstance{.first = begin,
                           .items = count,
                           .plain = count < min_items,
                           .shape = shape_of(first + begin, gamma_, count)});
    }
  }

  /// So that no number of cells or of their bytes overflows.
  static constexpr double max_share = 0x1p59;
  static double share_of(double share, std::size_t elements) {
    return std::min(share * static_cast<double>(elements), max_share);
  }

  [[nodiscard]] std::size_t instances_by_position(std::size_t elements) const {
    const std::size_t words = kernels::bitmap_words(elements);
    const auto cells = static_cast<std::size_t>(share_of(size_, elements));
    return std::clamp<std::size_t>(cells / instance_items, 1, std::max<std::size_t>(words, 1));
  }

  /// The sum over cut_piece(), without a step for each instance: those of a vector that somebody
  /// asks for by mistake could be without end. Instances have one of two lengths, and only the last
  /// one is ragged.
  [[nodiscard]] std::size_t cells_by_position(std::size_t elements) const {
    const std::size_t words = kernels::bitmap_words(elements);
    const std::size_t instances = instances_by_position(elements);
    const std::size_t shorter = words / instances, longer_ones = words % instances;
    const std::size_t last = longer_ones != 0 ? shorter + 1 : shorter;
    const auto cells_of = [&](std::size_t count) { return shape_of(0, size_, count).cells(); };
    const std::size_t cells = (instances - longer_ones) * cells_of(64 * shorter) +
                              longer_ones * cells_of(64 * (shorter + 1)) - cells_of(64 * last) +
                              cells_of(64 * last - (64 * words - elements));
    return std::min(cells, static_cast<std::size_t>(max_share));
  }

  /// Between words of the bitmap; what depends on the union is left open.
  template <class Visit>
  void cut_piece(std::size_t first, std::size_t elements, Visit&& visit) const {
    const std::size_t words = kernels::bitmap_words(elements);
    const std::size_t instances = instances_by_position(elements);
    for (std::size_t i = 0; i < instances; ++i) {
      const std::size_t begin = 64 * (words * i / instances);
      const std::size_t end = std::min(64 * (words * (i + 1) / instances), elements);
      visit(SketchInstance{.by_position = true,
                           .first_element = begin,
                           .elements = end - begin,
                           .shape = shape_of(first + begin, size_, end - begin)});
    }
  }

  [[nodiscard]] kernels::SketchShape shape_of(std::size_t number, double cells,
                                              std::size_t items) const {
    return {.row = static_cast<std::uint32_t>(
                std::ceil(cells * static_cast<double>(items) / kernels::body::sketch_rows)),
            .key = kernels::body::mix64(key_ + number * kernels::body::golden64)};
  }

  double gamma_, size_;
  std::uint64_t key_ = 0;
};

}  // namespace cohom
