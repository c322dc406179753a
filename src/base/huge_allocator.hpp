#pragma once
// HugeAllocator: memory of long vectors, which kernels walk through from end to end in every call.

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace cohom {

/// Aligned to a cache line, so that output can go around the caches; from 2 MiB on in huge pages
/// where the system has them, since a walk through small ones takes longer than the work.
template <class T>
struct HugeAllocator {
  using value_type = T;

  HugeAllocator() = default;
  template <class Other>
  HugeAllocator(const HugeAllocator<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    constexpr std::size_t line = 64, page = std::size_t{2} << 20;
    if (count > (std::numeric_limits<std::ptrdiff_t>::max() - page) / sizeof(T))
      throw std::bad_alloc();
    const std::size_t unit = count * sizeof(T) < page ? line : page;
    const std::size_t bytes = (count * sizeof(T) + unit - 1) / unit * unit;
    void* const memory = std::aligned_alloc(unit, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (unit == page) madvise(memory, bytes, MADV_HUGEPAGE);  // a hint; refusal only costs speed
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }

  bool operator==(const HugeAllocator&) const = default;
};

}  // namespace cohom
