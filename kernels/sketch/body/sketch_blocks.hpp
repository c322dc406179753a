#pragma once
// What sketches of integers ask of a block of elements: its largest magnitude, and whether cells
// can hold all of it. f64 has no integers: it is not asked.

#include "kernels/core/body/block.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/sketch/body/sketch_integers.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// Elements of a block that are outliers as one.
inline constexpr std::size_t sketch_block = 256;

}  // namespace cohom::kernels

namespace cohom::kernels::body {

/// Bits, as f32, of the largest finite magnitude.
struct SketchLargest {
  static constexpr std::size_t block = sketch_block;
  static constexpr unsigned team = 32;
  struct Settings {};
  using Found = std::uint32_t;
  struct Seen {
    std::uint32_t largest = 0;
  };

  template <class Real>
  COHOM_HD static void take(const Settings&, Seen& seen, Real element) {
    const std::uint32_t magnitude = magnitude_bits(static_cast<float>(element));
    const std::uint32_t is_finite = magnitude < FloatFormat<float>::infinity ? 1 : 0;
    const std::uint32_t finite = magnitude & (0 - is_finite);  // no branch: for vectors
    seen.largest = finite > seen.largest ? finite : seen.largest;
  }
  COHOM_HD static void join(Seen& seen, const Seen& other) {
    seen.largest = other.largest > seen.largest ? other.largest : seen.largest;
  }
  COHOM_HD static Found found(const Settings&, const Seen& seen) { return seen.largest; }
};

/// Whether cells hold all elements: 1, or 0.
struct SketchHeld {
  static constexpr std::size_t block = sketch_block;
  static constexpr unsigned team = 32;
  using Settings = SketchIntegers<float>;
  using Found = std::uint8_t;
  struct Seen {
    std::uint32_t unheld = 0;
  };

  template <class Real>
  COHOM_HD static void take(const Settings& numbers, Seen& seen, Real element) {
    seen.unheld |= numbers.holds(static_cast<float>(element)) ? 0 : 1;
  }
  COHOM_HD static void join(Seen& seen, const Seen& other) { seen.unheld |= other.unheld; }
  COHOM_HD static Found found(const Settings&, const Seen& seen) { return seen.unheld == 0; }
};

}  // namespace cohom::kernels::body
