#pragma once
// What a codec and an algorithm should put on the wire, computed from their descriptions alone: the
// yardstick beside the bytes that the transport counted.

#include "codecs/common/index/union_shape.hpp"

#include <cohom/element_type.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cohom::bench {

struct WireBytes {
  std::uint64_t busiest_rank = 0;
  std::uint64_t all_ranks = 0;
};

/// Bytes of payload and agreement of one call, padding included; not the few words in which ranks
/// exchange errors, nor the exact values of blocks with NaNs or infinities. Of packed it is what
/// the budget allows, in direct. `codec` is a valid spec with its parameters. What depends on
/// `shape` (sparse, sketch) is as if values were spread evenly over the vector. `step` is the
/// call's number, from 0, for codecs whose calls differ (marsit). `nodes`: AlgorithmInput's.
/// `elements`: of the whole vector; of a reduce the root is rank 0. Empty
/// for codecs and algorithms without a formula here, among them all that send nothing themselves
/// (fabric); where thc cannot add up so many ranks in the lanes it is given; and without the shape,
/// where bytes depend on it.
std::optional<WireBytes> wire_formula(const std::string& codec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, int ranks,
                                      const std::optional<UnionShape>& shape = std::nullopt,
                                      std::uint64_t step = 0,
                                      std::span<const std::uint32_t> nodes = {},
                                      std::span<const std::uint32_t> switches = {},
                                      ReductionKind collective = ReductionKind::allreduce);

}  // namespace cohom::bench
