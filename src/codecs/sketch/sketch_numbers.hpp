#pragma once
// What cells of a sketch hold, and which elements they cannot hold.

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/sketch/body/sketch_integers.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom {

/// Elements of T as cells.
template <class T, class Cell>
class SketchNumbers;

template <class T>
class SketchNumbers<T, std::uint64_t> : public kernels::body::SketchIntegers<T> {
 public:
  using kernels::body::SketchIntegers<T>::SketchIntegers;
};

/// Floating point, in the elements' arithmetic. Sums of a cell's items may be larger than all of
/// them.
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
