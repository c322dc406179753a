#pragma once
// Single instructions of a device, and what stands for them on the host.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/hd.hpp"

#include <cmath>
#include <cstdint>

namespace cohom::kernels::device {

using body::count_ones;

/// Bytes of b:a that the low three bits of the four lowest nibbles of `selector` choose. With a
/// nibble's high bit set: the sign of that byte in all its bits.
COHOM_HD inline std::uint32_t permute_bytes(std::uint32_t a, std::uint32_t b,
                                            std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
#else
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t nibble = selector >> (4 * i) & 15;
    auto byte = static_cast<std::uint32_t>(both >> (8 * (nibble & 7)) & 0xff);
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
#endif
}

/// The larger and the smaller number; the other one where one is NaN.
template <class Real>
COHOM_HD inline Real larger(Real a, Real b) {
#if defined(__CUDA_ARCH__)
  return fmax(a, b);
#else
  return std::fmax(a, b);
#endif
}
template <class Real>
COHOM_HD inline Real smaller(Real a, Real b) {
#if defined(__CUDA_ARCH__)
  return fmin(a, b);
#else
  return std::fmin(a, b);
#endif
}

// Threads of one launch that meet in a place. On the host they run one after the other.

template <class Integer>
COHOM_HD inline void atomic_add(Integer* place, Integer value) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Integer) == 8)
    atomicAdd(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value));
  else
    atomicAdd(place, value);
#else
  *place += value;
#endif
}

COHOM_HD inline void atomic_or(std::uint32_t* place, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(place, bits);
#else
  *place |= bits;
#endif
}

/// What was there before.
COHOM_HD inline std::uint32_t atomic_fetch_or(std::uint32_t* place, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return atomicOr(place, bits);
#else
  const std::uint32_t before = *place;
  *place |= bits;
  return before;
#endif
}

COHOM_HD inline std::uint32_t atomic_fetch_add(std::uint32_t* place, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(place, value);
#else
  const std::uint32_t before = *place;
  *place += value;
  return before;
#endif
}
COHOM_HD inline std::uint64_t atomic_fetch_add(std::uint64_t* place, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(reinterpret_cast<unsigned long long*>(place),
                   static_cast<unsigned long long>(value));
#else
  const std::uint64_t before = *place;
  *place += value;
  return before;
#endif
}

}  // namespace cohom::kernels::device
