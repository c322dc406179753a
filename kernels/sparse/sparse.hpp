#pragma once
// What the sparse kernels share: bitmaps of the elements that are not zero, and the elements that a
// bitmap selects, side by side.
//
// Bit i of a bitmap (bit i mod 64 of word i div 64) stands for element i of a run; bits behind the
// last element are zero. Elements are bits here, no numbers: zero is all bits zero, and -0.0 is
// not.

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// Words of the bitmap of so many elements.
constexpr std::size_t bitmap_words(std::size_t elements) {
  return elements / 64 + (elements % 64 != 0);
}

/// Elements of 2, 4 or 8 bytes.
struct SparseRun {
  std::size_t element_bytes = 4;
  std::size_t first = 0;  ///< index of its first element in the whole vector
  std::size_t count = 0;  ///< elements
};

struct SparseKernels {
  /// Writes the bitmap of the run's elements that are not zero.
  void (*scan)(const SparseRun& run, const void* elements, std::uint64_t* bitmap);

  /// Bits that are set in so many words.
  std::size_t (*count_bits)(const std::uint64_t* words, std::size_t count);

  /// Writes the elements that the bitmap selects, in order. There is room for the whole run, and
  /// what lies behind the selected ones may be written.
  void (*compact)(const SparseRun& run, const void* elements, const std::uint64_t* bitmap,
                  void* compacted);

  /// The inverse: `compacted` holds as many elements as the bitmap selects; the others of the run
  /// become zero. Nothing is in place.
  void (*expand)(const SparseRun& run, const void* compacted, const std::uint64_t* bitmap,
                 void* elements);
};

/// Whether a device has all that codecs call.
constexpr bool complete(const SparseKernels& row) {
  return row.scan != nullptr && row.count_bits != nullptr && row.compact != nullptr &&
         row.expand != nullptr;
}

}  // namespace cohom::kernels
