#pragma once
// What a run of elements takes on the wire, codec by codec, computed from their descriptions alone.

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
  bool disjoint = false;  ///< `direct` sends every rank's contribution to all others, and no sums

  [[nodiscard]] std::uint64_t result(std::size_t elements) const {
    return finished ? finished(elements) : sum(elements);
  }
};

/// As wire_formula() says of its arguments; empty for codecs that have no formula there.
std::optional<CodecBytes> codec_bytes(const std::string& spec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, std::size_t ranks,
                                      const std::optional<UnionShape>& shape);

}  // namespace cohom::bench
