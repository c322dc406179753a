#pragma once
// What one round of a codec by an algorithm puts on the wire, counted over the schedule.

#include "codecs/common/codec_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// Bytes that `rank` of `ranks` sends for a vector of `elements`. `nodes`, `switches`,
/// `collective`: AlgorithmInput's; the root is rank 0.
std::uint64_t bytes_sent(const AlgorithmRow& algorithm, const CodecBytes& codec,
                         std::size_t elements, int rank, int ranks,
                         std::span<const std::uint32_t> nodes = {},
                         std::span<const std::uint32_t> switches = {},
                         ReductionKind collective = ReductionKind::allreduce);

}  // namespace cohom
