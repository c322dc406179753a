#pragma once
// SketchExponent: the exponent that a rank wants integers of its sketches to be made with. Integers
// hold numbers of a range of exponents only; with one value far larger than all others the range
// that ends with it holds nothing else, and every block is an outlier. So the range is where it
// holds most blocks, and those above it are outliers, too.

#include "kernels/table/kernel_table.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class SketchExponent {
 public:
  SketchExponent(ElementType type, std::uint32_t ranks, const kernels::KernelTable& kernels)
      : type_(type), ranks_(ranks), kernels_(kernels) {}

  void reserve(std::size_t elements);
  void begin() { largest_ = none; }

  /// Takes note of the blocks of a run that starts with a block, at `elements`.
  void measure(const std::byte* elements, std::size_t first, std::size_t count);
  /// When all is measured, of the vector that begins at `elements`: the exponent, or `none` of
  /// zeros.
  [[nodiscard]] int best(const std::byte* elements, std::size_t count) const;
  /// Whether a block has larger numbers than integers of this exponent can have.
  [[nodiscard]] bool exceeds(std::size_t block, int exponent) const {
    return exponents_[block] > exponent;
  }

  static constexpr int none = -1000;

 private:
  [[nodiscard]] bool holds_all(const std::byte* elements, std::size_t count) const;
  [[nodiscard]] int lowest_bit(const std::byte* elements, std::size_t count) const;

  ElementType type_;
  std::uint32_t ranks_;
  const kernels::KernelTable& kernels_;
  std::vector<int> exponents_;  ///< of each block's largest number; `none` of zeros
  int largest_ = none;
};

}  // namespace cohom
