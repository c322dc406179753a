#pragma once
// Kernels that place a sketch's items in its cells, and find where peeling begins. They are the
// host's: a device places items as it inserts and peels them, and its table has none.

#include "kernels/sketch/body/sketch_place.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

using body::SketchPlace;
using body::SketchShape;

struct PlacingKernels {
  /// places[i] := the place of the item called names[i]; without names, of item i.
  void (*places)(const SketchShape& shape, const std::uint32_t* names, std::size_t items,
                 SketchPlace* places);

  /// numbers := of the links whose upper half is 1, ascending. There is room for 16 more than
  /// links.
  /// @return how many
  std::size_t (*find_singles)(const std::uint32_t* links, std::size_t count,
                              std::uint32_t* numbers);
};

}  // namespace cohom::kernels
