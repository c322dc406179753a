#pragma once
// Elements as the integers of a sketch's cells: f32, f16 or bf16.

#include "kernels/core/body/fixed_point.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"

#include <cstdint>

namespace cohom::kernels::body {

template <class T>
class SketchIntegers {
 public:
  COHOM_HD explicit SketchIntegers(const FixedPoint& point)
      : point_(point), bound_(point.number(~std::uint64_t{0} >> 1)) {}

  [[nodiscard]] COHOM_HD bool holds(float value) const {
    // What is not below the bound, 2^63 units, is no integer of 64 bits; a block with it is an
    // outlier. Without branches: then compilers make vectors of it.
    const std::uint32_t below = magnitude_bits(value) < magnitude_bits(bound_) ? 1 : 0;
    const float safe = from_bits<float>(bits_of(value) & (0 - below));
    return (below & (point_.holds(static_cast<double>(safe)) ? 1u : 0u)) != 0;
  }
  [[nodiscard]] COHOM_HD std::uint64_t cell(float value) const {
    return point_.integer(static_cast<double>(value));
  }
  /// What cannot be held adds nothing.
  [[nodiscard]] COHOM_HD std::uint64_t cell_or_zero(float value) const {
    return holds(value) ? cell(value) : 0;
  }
  /// f16 and bf16 are rounded when they are stored.
  [[nodiscard]] COHOM_HD float value(std::uint64_t cell) const {
    return sizeof(T) < sizeof(float) ? point_.number_to_odd(cell) : point_.number(cell);
  }

 private:
  FixedPoint point_;
  float bound_;  ///< 2^63 rounds to itself; infinite where every number is below it
};

}  // namespace cohom::kernels::body
