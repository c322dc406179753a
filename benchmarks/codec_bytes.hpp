#pragma once
// What a codec puts into messages, computed from its description alone.

#include "union_shape.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cohom::bench {

/// Bytes of a run of elements that starts at a block's begin.
using RunBytes = std::function<std::uint64_t(std::size_t elements)>;

struct CodecBytes {
  std::size_t block = 1;
  RunBytes contribution;  ///< as `direct` sends it
  RunBytes sum;           ///< as partial sums travel, and finished ones if `finished` is empty
  std::uint64_t agreement = 0;  ///< of the vector; it goes by recursive doubling
  RunBytes finished = {};
  bool narrow = false;     ///< contributions are shorter than sums
  bool disjoint = false;   ///< `direct` sends every rank's contribution to all others, and no sums
  bool by_direct = false;  ///< whatever the algorithm

  [[nodiscard]] std::uint64_t result(std::size_t elements) const {
    return finished ? finished(elements) : sum(elements);
  }
};

/// Of one call; parameters as wire_formula()'s. Empty where there is no formula.
std::optional<CodecBytes> codec_bytes(const std::string& spec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, int ranks,
                                      const std::optional<UnionShape>& shape, std::uint64_t step);

}  // namespace cohom::bench
