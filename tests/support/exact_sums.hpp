#pragma once
// Sums of few vectors in so many bits that nothing is lost, as an oracle of what is rounded once.

#include "elements.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace cohom::test {

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;
#endif

/// The ranks' elements added, divided and rounded once; NaNs are the canonical one.
inline Bytes exact_sums(ElementType type, std::span<const std::vector<double>> vectors,
                        int divisor = 1) {
  std::vector<Quad> exact(vectors[0].size());
  for (const auto& vector : vectors) {
    const auto elements = to_values(type, to_bytes(type, vector));
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += Quad(elements[i]);
  }
  std::vector<double> sums;
  for (const Quad sum : exact) {
    const auto result = static_cast<double>(sum / Quad(divisor));
    sums.push_back(std::isnan(result) ? std::numeric_limits<double>::quiet_NaN() : result);
  }
  return to_bytes(type, sums);
}

}  // namespace cohom::test
