#pragma once
// Count sketches that are peeled: sums of sparse vectors in few cells, from which every value comes back
// exactly (Li et al., Lossless Homomorphic Compression, 2024, arXiv 2402.07529).
//
// A sketch has three rows of cells. An item, value x, is added to one cell of each row, with a sign. When
// all that were added are known by name, a cell with a single item tells its value, which is taken out of
// its other cells, and so on. 1.23 cells an item suffice for many items; which items are left when fewer
// do, or when two share all their cells, follows from their names alone.

#include "kernels/body/random.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::kernels {

inline constexpr std::size_t sketch_rows = 3;

/// Where the items of a sketch go (docs/wire-format.md, "sketch").
struct SketchShape {
  std::uint32_t row = 0;  ///< cells of a row
  std::uint64_t key = 0;

  [[nodiscard]] std::size_t cells() const { return sketch_rows * row; }
};

/// An item's cells, one a row, and its sign.
struct SketchPlace {
  std::uint32_t cell[sketch_rows];
  bool negative;

  SketchPlace(const SketchShape& shape, std::uint32_t item) {
    const std::uint64_t bits = body::mix64(shape.key + item * body::golden64);
    const std::uint64_t more = (bits >> 32 ^ bits) * body::golden64;
    cell[0] = part(bits >> 32, shape.row);
    cell[1] = shape.row + part(bits & 0xffffffff, shape.row);
    cell[2] = 2 * shape.row + part(more >> 32, shape.row);
    negative = (more >> 31 & 1) != 0;
  }

 private:
  static std::uint32_t part(std::uint64_t random, std::uint32_t row) {
    return static_cast<std::uint32_t>(random * row >> 32);
  }
};

/// Cells and values are float, double, or std::uint64_t for integers that wrap.
template <class Cell>
void sketch_insert(const SketchShape& shape, std::size_t items, const Cell* values, Cell* cells);

/// What peeling works with, for sketches of at most the cells reserved.
class SketchScratch {
 public:
  void reserve(std::size_t cells);

 private:
  template <class Cell>
  friend std::size_t sketch_peel(const SketchShape& shape, Cell* cells, SketchScratch& scratch,
                                 std::span<std::uint8_t> known, Cell* values);

  std::vector<std::uint64_t> links_;
  std::vector<std::uint32_t> queue_;
};

/// Finds the values of items 0 .. known.size() - 1, first in first out, because other orders let
/// floating-point errors grow; known[i] says which were found. Uses up the cells.
/// @return items that were not found
template <class Cell>
std::size_t sketch_peel(const SketchShape& shape, Cell* cells, SketchScratch& scratch,
                        std::span<std::uint8_t> known, Cell* values);

}  // namespace cohom::kernels
