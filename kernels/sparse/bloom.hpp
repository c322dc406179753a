#pragma once
// Kernels of Bloom filters: which elements a vector may hold.

#include "kernels/sparse/body/bloom.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

using body::BloomShape;

struct BloomKernels {
  /// Sets the bits of the elements that a bitmap names in a filter. Its bit i is element first + i
  /// of the vector; `first` is a multiple of 256.
  void (*insert)(const BloomShape& shape, std::size_t first, const std::uint64_t* bitmap,
                 std::size_t count, std::uint64_t* filter);

  /// Writes the bitmap of the elements first ... first + count - 1 that a filter may hold.
  void (*find)(const BloomShape& shape, const std::uint64_t* filter, std::size_t first,
               std::size_t count, std::uint64_t* bitmap);
};

/// Whether a device has all that codecs call.
constexpr bool complete(const BloomKernels& row) {
  return row.insert != nullptr && row.find != nullptr;
}

}  // namespace cohom::kernels
