#pragma once
// What the host needs to make and to peel the parts of a run (integer_sketch.hpp), one after the
// other: taken before any call, so that calls take nothing.

#include "kernels/sketch/integer_sketch.hpp"
#include "kernels/sketch/sketch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::kernels {

class SketchWorkspace {
 public:
  /// `placing` outlives it, and makes the places.
  explicit SketchWorkspace(const PlacingKernels& placing) : placing_(placing), peeling_(placing) {}

  /// For parts of at most so many items and cells, but those that are plain.
  void reserve(std::size_t items, std::size_t cells) {
    values_.resize(items);
    places_.resize(items);
    names_.resize(items);
    cells_.resize(cells);
    peeling_.reserve(cells);
  }

  /// Of a part's items; valid until the next call.
  [[nodiscard]] std::span<const SketchPlace> places_of(const SketchRun& run,
                                                       const SketchPart& part) {
    const std::uint32_t* names = nullptr;
    if (run.names != nullptr) {
      for (std::size_t i = 0; i < part.items; ++i)
        names_[i] = run.names[part.first + i] - part.first_name;
      names = names_.data();
    }
    placing_.places(part.shape, names, part.items, places_.data());
    return std::span(places_).first(part.items);
  }

  /// Room for the values of a part's items, in a cell's type.
  template <class Cell>
  [[nodiscard]] Cell* values() {
    return reinterpret_cast<Cell*>(values_.data());
  }

  /// Peels a part out of a copy of its cells, into values(); known[i] says which items were found.
  /// @return items that were not found
  template <class Cell>
  std::size_t peel(const SketchRun& run, const SketchPart& part, const Cell* cells,
                   std::uint8_t* known) {
    const std::span own(reinterpret_cast<Cell*>(cells_.data()), part.cells());
    std::copy_n(cells, own.size(), own.data());
    return sketch_peel<Cell>(places_of(run, part), own, peeling_, known, values<Cell>());
  }

 private:
  const PlacingKernels& placing_;
  std::vector<std::uint64_t> values_, cells_;  ///< of any type
  std::vector<SketchPlace> places_;
  std::vector<std::uint32_t> names_;
  SketchScratch peeling_;
};

}  // namespace cohom::kernels
