#pragma once
// UnionBytes: what the union of a vector's values takes an element of the vector, as if it were
// spread evenly: what is named, and how much counts as a value.

#include "codecs/common/codec_context.hpp"
#include "codecs/common/index/union_shape.hpp"

#include <cstdint>

namespace cohom {

struct UnionBytes {
  double index = 0;   ///< bytes, that go the payload's way
  double values = 0;  ///< share of the elements
  std::uint64_t agreement = 0;
};

/// With the parameters of an index.
UnionBytes union_bytes(const Parameters& parameters, const UnionShape& shape);

}  // namespace cohom
