#pragma once
// Counting bits, on the host and on a device.

#include "kernels/core/hd.hpp"

#include <bit>
#include <cstdint>

namespace cohom::kernels::body {

COHOM_HD inline unsigned count_ones(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popc(bits));
#else
  return static_cast<unsigned>(std::popcount(bits));
#endif
}
COHOM_HD inline unsigned count_ones(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popcll(static_cast<long long>(bits)));
#else
  return static_cast<unsigned>(std::popcount(bits));
#endif
}

/// Number of the highest bit that is set, plus one; 0 for 0.
COHOM_HD inline unsigned bit_width(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return 32 - static_cast<unsigned>(__clz(static_cast<int>(bits)));
#else
  return static_cast<unsigned>(std::bit_width(bits));
#endif
}
COHOM_HD inline unsigned bit_width(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return 64 - static_cast<unsigned>(__clzll(static_cast<long long>(bits)));
#else
  return static_cast<unsigned>(std::bit_width(bits));
#endif
}

/// Zero bits below the lowest 1 of a number that is not 0.
COHOM_HD inline unsigned trailing_zeros(std::uint64_t number) {
  return count_ones((number & (~number + 1)) - 1);
}

}  // namespace cohom::kernels::body
