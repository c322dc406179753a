#pragma once
// Count sketches that are peeled: sums of sparse vectors in few cells, from which every value comes
// back exactly (Li et al., Lossless Homomorphic Compression, 2024, arXiv 2402.07529).
//
// A sketch has three rows of cells. An item, value x, is added to one cell of each row, with a
// sign. When all that were added are known by name, a cell with a single item tells its value,
// which is taken out of its other cells, and so on. 1.23 cells an item suffice for many items;
// which items are left when fewer do, or when two share all their cells, follows from their names
// alone.

#include "kernels/sketch/placing.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::kernels {

/// Adds values to the cells of their places. Cells and values are float, double, or std::uint64_t
/// for integers that wrap.
template <class Cell>
void sketch_insert(std::span<const SketchPlace> places, const Cell* values, Cell* cells);

/// What peeling works with, for sketches of at most the cells reserved.
class SketchScratch {
 public:
  explicit SketchScratch(const PlacingKernels& placing) : placing_(&placing) {}
  void reserve(std::size_t cells);

 private:
  template <class Cell>
  friend std::size_t sketch_peel(std::span<const SketchPlace> places, std::span<Cell> cells,
                                 SketchScratch& scratch, std::uint8_t* known, Cell* values);

  const PlacingKernels* placing_;
  std::vector<std::uint64_t> links_;
  std::vector<std::uint32_t> queue_;
};

/// Finds the values of the items with these places, first in first out, because other orders let
/// floating-point errors grow; known[i] says which were found. Uses up the cells.
/// @return items that were not found
template <class Cell>
std::size_t sketch_peel(std::span<const SketchPlace> places, std::span<Cell> cells,
                        SketchScratch& scratch, std::uint8_t* known, Cell* values);

}  // namespace cohom::kernels
