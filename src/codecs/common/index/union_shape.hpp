#pragma once
// UnionShape: how much of a vector is zero on all ranks, and how that lies.

#include <cstddef>

namespace cohom {

struct UnionShape {
  std::size_t elements = 0;     ///< of the vector
  std::size_t values = 0;       ///< that are not zero on some rank
  std::size_t contributed = 0;  ///< values of all ranks together
  /// Zeros on all ranks in blocks of 512 elements, counted from the vector's first, of which some
  /// rank has so many values that their index would be longer than the zeros.
  std::size_t zeros_of_full = 0;
  std::size_t mixed = 0;  ///< elements of the other blocks that have a value on some rank

  [[nodiscard]] double density() const {
    return elements == 0 ? 0 : static_cast<double>(values) / static_cast<double>(elements);
  }
};

}  // namespace cohom
