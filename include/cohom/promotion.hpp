#pragma once
// Promotion: how a narrow contribution becomes a part of a sum, for aggregators that know no codec.

#include <cohom/cxx20.hpp>

#include <array>
#include <cstdint>

namespace cohom {

/// A contribution is a run of blocks of lanes (docs/wire-format.md, "Lanes"): in narrow form lanes
/// of `narrow_width` bits, in a sum of `wide_width`. A lane v of the one stands for levels[v] in
/// the other, or for v itself.
struct Promotion {
  std::uint8_t narrow_width = 1;
  std::uint8_t wide_width = 1;
  bool has_levels = false;
  std::uint32_t block = 16;               ///< values of a block, a power of two from 16 on
  std::array<std::uint8_t, 16> levels{};  ///< of lanes of at most 4 bits

  friend bool operator==(const Promotion&, const Promotion&) = default;
};

using Widening = Promotion;  ///< old name

}  // namespace cohom
