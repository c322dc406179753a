#pragma once
// A Bloom filter of elements (B. Bloom, 1970): an element sets as many bits as there are probes,
// and may be in the set where all of them are set. Elements are numbered in the whole vector.

#include "kernels/core/body/random.hpp"
#include "kernels/core/hd.hpp"

#include <cstdint>

namespace cohom::kernels::body {

struct BloomShape {
  std::uint32_t bits = 0;  ///< of the filter, a multiple of 64
  std::uint32_t probes = 0;
  std::uint64_t key = 0;
};

/// The bits of one element, by double hashing (Kirsch and Mitzenmacher, 2006).
class BloomProbe {
 public:
  /// For element 256 q + x; `frame` is frame(key, q).
  COHOM_HD constexpr BloomProbe(std::uint32_t frame, std::uint32_t x)
      : next_(draw(frame, x)), step_(draw(frame, 256 + x) | 1) {}

  [[nodiscard]] COHOM_HD constexpr std::uint32_t next(std::uint32_t bits) {
    const auto bit = static_cast<std::uint32_t>(std::uint64_t{next_} * bits >> 32);
    next_ += step_;
    return bit;
  }

 private:
  std::uint32_t next_, step_;
};

}  // namespace cohom::kernels::body
