#pragma once
// lowrank's parameters, and the matrix that they make of a vector.

#include "codecs/common/parameters.hpp"

#include <cstddef>
#include <span>

namespace cohom {

struct LowrankOptions {
  static constexpr std::size_t most_rank = 32;

  std::size_t rank = 4;
  std::size_t columns = 0;  ///< 0: by the vector's elements
  bool error_feedback = false;
};

/// Every parameter of lowrank, in the order cohom-info prints them.
std::span<const ParameterInfo> lowrank_parameters();

/// @throws Error(invalid_argument) for an unknown parameter or a wrong value.
LowrankOptions parse_lowrank_options(const Parameters& given);

/// A vector as a matrix: its elements row by row, the last row filled up with zeros.
struct LowrankShape {
  std::size_t columns = 0;  ///< a power of two, at least 16
  std::size_t rank = 0;     ///< columns of the factors, at most `columns` and the vector's rows

  /// Of a vector of so many elements; 0: not known.
  LowrankShape(const LowrankOptions& options, std::size_t elements);

  [[nodiscard]] std::size_t rows(std::size_t elements) const {
    return (elements + columns - 1) / columns;
  }
  /// Words of so many vectors of `rank` f32.
  [[nodiscard]] std::size_t words(std::size_t vectors) const { return (vectors * rank + 1) / 2; }
};

}  // namespace cohom
