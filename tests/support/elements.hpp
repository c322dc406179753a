#pragma once
// Test vectors as doubles, and as the bytes of any element type.

#include "kernels/core/body/element.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace cohom::test {

using Bytes = std::vector<std::byte>;

inline Bytes to_bytes(ElementType type, std::span<const double> values) {
  Bytes bytes(values.size() * size_of(type));
  kernels::body::with_element_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i)
      kernels::body::store_element<T>(bytes.data(), i,
                                      static_cast<kernels::body::Arithmetic<T>>(values[i]));
  });
  return bytes;
}

inline std::vector<double> to_values(ElementType type, std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / size_of(type));
  kernels::body::with_element_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = kernels::body::load_element<T>(bytes.data(), i);
  });
  return values;
}

/// Standard normal values. The seed is the case's own, so a failure can be repeated.
inline std::vector<double> normal_values(std::size_t count, std::uint64_t seed,
                                         double deviation = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> values(count);
  for (double& value : values) value = normal(engine);
  return values;
}

/// Sum over elements of (exact - found)^2, divided by the sum of exact^2.
inline double vnmse(std::span<const double> exact, std::span<const double> found) {
  double error = 0;
  double energy = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += (exact[i] - found[i]) * (exact[i] - found[i]);
    energy += exact[i] * exact[i];
  }
  return error / energy;
}

}  // namespace cohom::test
