#pragma once
// Vectors of which most elements are zero, and shapes of them that are hard on an index.

#include "elements.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace cohom::test {

/// Standard normal values where a coin says so, zeros elsewhere.
inline std::vector<double> sparse_values(std::size_t count, double density, std::uint64_t seed) {
  std::vector<double> values = normal_values(count, seed);
  std::mt19937_64 engine(seed + 1000);
  for (double& value : values)
    if (static_cast<double>(engine() >> 11) * 0x1p-53 >= density) value = 0;
  return values;
}

/// Values at first, first + stride, first + 2 stride ...
inline std::vector<double> strided_values(std::size_t count, std::size_t first, std::size_t stride,
                                          std::uint64_t seed) {
  const std::vector<double> all = normal_values(count, seed);
  std::vector<double> values(count);
  for (std::size_t i = first; i < count; i += stride) values[i] = all[i];
  return values;
}

}  // namespace cohom::test
