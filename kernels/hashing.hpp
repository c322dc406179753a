#pragma once
// Kernels that hash elements: the places of a sketch's items, where peeling begins, and membership in a
// Bloom filter.

#include "kernels/body/bloom.hpp"
#include "kernels/body/sketch_place.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

using body::BloomShape;
using body::SketchPlace;
using body::SketchShape;

struct HashingKernels {
  /// places[i] := the place of the item called names[i]; without names, of item i.
  void (*places)(const SketchShape& shape, const std::uint32_t* names, std::size_t items,
                 SketchPlace* places);

  /// numbers := of the links whose upper half is 1, ascending. There is room for 16 more than links.
  /// @return how many
  std::size_t (*find_singles)(const std::uint32_t* links, std::size_t count,
                              std::uint32_t* numbers);

  /// Sets the bits of the elements that a bitmap names in a filter. Its bit i is element first + i of the
  /// vector; `first` is a multiple of 256.
  void (*insert)(const BloomShape& shape, std::size_t first, const std::uint64_t* bitmap,
                 std::size_t count, std::uint64_t* filter);

  /// Writes the bitmap of the elements first ... first + count - 1 that a filter may hold.
  void (*find)(const BloomShape& shape, const std::uint64_t* filter, std::size_t first,
               std::size_t count, std::uint64_t* bitmap);
};

}  // namespace cohom::kernels
