#pragma once
// Vectors for tests of exact. Each set has a reason, which stands beside its maker.

#include "elements.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {

/// One sum, or mean.
struct ExactProblem {
  ElementType type = ElementType::f32;
  int ranks = 1;
  std::size_t count = 0;
  bool mean = false;
  std::uint64_t seed = 1;

  [[nodiscard]] std::uint64_t divisor() const { return mean ? std::uint64_t(ranks) : 1; }
  [[nodiscard]] std::string name() const;
};

struct ExactData {
  std::string_view name;
  /// The ranks' vectors.
  std::vector<Bytes> (*make)(const ExactProblem&);
};

std::span<const ExactData> exact_data();

/// Numbers over the whole range of exponents: in each mini-block as far apart as the seed says,
/// from neighbours to the largest beside the least. A few mini-blocks have zeros of either sign, or
/// something that is no number.
std::vector<Bytes> random_exact_vectors(const ExactProblem&);

}  // namespace cohom::test
