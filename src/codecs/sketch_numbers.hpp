#pragma once
// What cells of a sketch hold, and which elements they cannot hold.

#include "codecs/fixed_point.hpp"
#include "kernels/body/element.hpp"
#include "kernels/body/float_bits.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom {

/// Elements of T as cells.
template <class T, class Cell>
class SketchNumbers;

template <class T>
class SketchNumbers<T, std::uint64_t> {
 public:
  SketchNumbers(int exponent, std::uint32_t ranks) : point_(exponent, ranks) {}

  [[nodiscard]] bool holds(float value) const {
    return kernels::body::magnitude_bits(value) < kernels::body::FloatFormat<float>::infinity &&
           point_.holds(static_cast<double>(value));
  }
  [[nodiscard]] std::uint64_t cell(float value) const {
    return point_.integer(static_cast<double>(value));
  }
  /// f16 and bf16 are rounded when they are stored.
  [[nodiscard]] float value(std::uint64_t cell) const {
    return sizeof(T) < sizeof(float) ? point_.number_to_odd(cell) : point_.number(cell);
  }

 private:
  FixedPoint point_;
};

/// Floating point, in the elements' arithmetic. Sums of a cell's items may be larger than all of them.
template <class T>
class SketchNumbers<T, kernels::body::Arithmetic<T>> {
 public:
  using Real = kernels::body::Arithmetic<T>;

  [[nodiscard]] bool holds(Real value) const {
    constexpr int most = sizeof(Real) == 4 ? 96 : 960;
    return kernels::body::magnitude_bits(value) <
           kernels::body::bits_of(kernels::body::power_of_two<Real>(most));
  }
  /// No -0.0: cells that hold no item are +0.0, too.
  [[nodiscard]] Real cell(Real value) const { return value + Real{0}; }
  [[nodiscard]] Real value(Real cell) const { return cell; }
};

}  // namespace cohom
