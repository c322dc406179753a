#pragma once
// Where the cells of a piece lie: its union is cut into instances, each a sketch of its own, as equal as
// they can be. Specified in docs/wire-format.md, "sketch".

#include "kernels/body/random.hpp"
#include "kernels/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cohom {

/// A run of the union's elements, and their cells.
struct SketchInstance {
  std::size_t first = 0;  ///< element of the piece's union
  std::size_t items = 0;
  bool plain = false;  ///< the items themselves, one a cell: too few to be sketched
  kernels::SketchShape shape;

  [[nodiscard]] std::size_t cells() const { return plain ? items : shape.cells(); }
};

class SketchLayout {
 public:
  /// Items of an instance, at least, where there are so many: small ones fail to peel more often, large
  /// ones do not fit the caches. All others have less than twice as many.
  static constexpr std::size_t instance_items = 8192;
  static constexpr std::size_t fewest_items = 256;

  SketchLayout(double gamma, std::uint64_t key) : gamma_(gamma), key_(key) {}

  /// Calls visit(instance) for each instance of a piece that begins at element `first` and has `items`
  /// elements in its union; returns their cells.
  template <class Visit>
  std::size_t for_each_instance(std::size_t first, std::size_t items, Visit&& visit) const {
    const std::size_t instances = std::max<std::size_t>(items / instance_items, 1);
    std::size_t cells = 0;
    for (std::size_t i = 0; i < instances; ++i) {
      const std::size_t begin = items * i / instances;
      const SketchInstance instance =
          instance_of(first, begin, items * (i + 1) / instances - begin);
      visit(instance);
      cells += instance.cells();
    }
    return cells;
  }

  [[nodiscard]] std::size_t cells(std::size_t items) const {
    return for_each_instance(0, items, [](const SketchInstance&) {});
  }

  /// The most that so many elements can take.
  [[nodiscard]] std::size_t most_cells(std::size_t elements) const {
    const std::size_t instances = elements / instance_items + 1;
    const auto sketched =
        static_cast<std::size_t>(std::ceil(gamma_ * static_cast<double>(elements)));
    return std::max(sketched + 3 * instances, elements);
  }
  static constexpr std::size_t most_items(std::size_t elements) {
    return std::min(elements, 2 * instance_items);
  }

 private:
  [[nodiscard]] SketchInstance instance_of(std::size_t first, std::size_t begin,
                                           std::size_t items) const {
    const auto row = static_cast<std::uint32_t>(
        std::ceil(gamma_ * static_cast<double>(items) / kernels::sketch_rows));
    return {
        .first = begin,
        .items = items,
        .plain = items < fewest_items,
        .shape = {.row = row,
                  .key = kernels::body::mix64(key_ + (first + begin) * kernels::body::golden64)}};
  }

  double gamma_;
  std::uint64_t key_;
};

}  // namespace cohom
