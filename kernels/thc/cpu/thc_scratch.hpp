#pragma once
// Room for one block of thc, kept by the thread so that no call allocates.

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace cohom::kernels {

/// Aligned for vectors; grows and never shrinks.
template <class T>
class ScratchArray {
 public:
  T* of(std::size_t size) {
    if (size > size_) {
      size_ = 0;
      data_ = hwy::AllocateAligned<T>(size);
      if (!data_) throw std::bad_alloc();
      size_ = size;
    }
    return data_.get();
  }

 private:
  hwy::AlignedFreeUniquePtr<T[]> data_;
  std::size_t size_ = 0;
};

template <class Real>
struct ThcScratch {
  ScratchArray<Real> rotated;          ///< a block between its passes
  ScratchArray<Real> own;              ///< what this rank's contribution decodes to
  ScratchArray<std::uint16_t> values;  ///< indices or levels; lanes of a sum
  ScratchArray<std::uint16_t> levels;
  ScratchArray<std::int32_t> grid;

  static ThcScratch& of_thread() {
    thread_local ThcScratch scratch;
    return scratch;
  }
};

}  // namespace cohom::kernels
