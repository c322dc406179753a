#pragma once
// Sketches (sketch.hpp) whose cells are 64-bit integers: elements to cells, and back by peeling.
// Integers have one sum in any order of additions, and a cell of one item has its value whoever
// looks first: so kernels are free to take items as they come.

#include "kernels/core/body/fixed_point.hpp"
#include "kernels/sketch/body/sketch_blocks.hpp"
#include "kernels/sketch/body/sketch_place.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom::kernels {

/// Items side by side that are a sketch of their own, or too few for one.
struct SketchPart {
  std::size_t first = 0;         ///< its first item, counted in the run
  std::size_t items = 0;         ///< below 2^32
  std::size_t first_cell = 0;    ///< counted in the run
  std::uint32_t first_name = 0;  ///< what is taken from the names of its items
  bool plain = false;            ///< the items themselves, one a cell
  body::SketchShape shape = {};

  [[nodiscard]] COHOM_HD constexpr std::size_t cells() const {
    return plain ? items : shape.cells();
  }
};

/// Elements as numbers of cells: f32, f16 or bf16.
struct SketchFormat {
  ElementType type = ElementType::f32;
  body::FixedPoint point = {};
};

class SketchWorkspace;

/// Bytes that a device needs to peel parts of so many items and cells at once.
constexpr std::size_t sketch_scratch_bytes(std::size_t items, std::size_t cells) {
  return 8 * items + (8 + 8 + 4) * cells;
}

/// Elements in several parts, one behind the other, as are their cells.
struct SketchRun {
  SketchFormat format;
  std::span<const SketchPart> parts;
  /// Of the items, where the elements are; null: their numbers in their parts.
  const std::uint32_t* names = nullptr;
  /// What the host's kernels need, reserved for the largest of the parts (sketch_workspace.hpp).
  SketchWorkspace* workspace = nullptr;
  /// What a device's peeling needs: sketch_scratch_bytes() bytes of its memory, aligned to 8.
  std::byte* scratch = nullptr;

  [[nodiscard]] std::size_t items() const {
    return parts.empty() ? 0 : parts.back().first + parts.back().items;
  }
  [[nodiscard]] std::size_t cells() const {
    return parts.empty() ? 0 : parts.back().first_cell + parts.back().cells();
  }
};

struct SketchKernels {
  /// Writes the cells of the run's elements; what cells cannot hold is left out.
  void (*insert)(const SketchRun& run, const void* elements, std::uint64_t* cells);

  /// The inverse of a sum. known[i] says whether item i was found, which its and the others' names
  /// alone decide; elements of those that were not are left as they are.
  /// @return items that were not found
  std::size_t (*peel)(const SketchRun& run, const std::uint64_t* cells, std::uint8_t* known,
                      void* elements);

  /// to[i] := from[i] for items that are not known; elements of 2, 4 or 8 bytes, as below.
  void (*keep_unknown)(std::size_t element_bytes, const std::uint8_t* known, std::size_t items,
                       const void* from, void* to);

  /// Side by side, the elements at some positions, and the inverse.
  void (*gather)(std::size_t element_bytes, const void* elements, const std::size_t* positions,
                 std::size_t count, void* gathered);
  void (*scatter)(std::size_t element_bytes, const void* gathered, const std::size_t* positions,
                  std::size_t count, void* elements);
};

/// Whether a device has all that codecs call.
constexpr bool complete(const SketchKernels& row) {
  return row.insert != nullptr && row.peel != nullptr && row.keep_unknown != nullptr &&
         row.gather != nullptr && row.scatter != nullptr;
}

}  // namespace cohom::kernels
