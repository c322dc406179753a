#pragma once
// The builders of the algorithm table, one file each. `n` below is the number of ranks.

#include "schedule/algorithms/algorithm.hpp"

#include <cstdint>

namespace cohom {

/// Of messages between two ranks that exchange at most one in each direction.
inline constexpr std::uint32_t only_sequence = 0;

/// n chunks; a reduce-scatter around the ring, then an allgather around it. Wide form. Of an
/// allgather the latter alone.
Schedule build_ring(const AlgorithmInput& input);

/// What comes after a reduce-scatter where not every rank gets all: `sum` is the slot of this
/// rank's chunk, whose number is the rank's. It is decoded here, or sent in `sequence_id` to the
/// root, which decodes all.
void end_at_owners_or_root(ScheduleBuilder& schedule, const AlgorithmInput& input,
                           std::uint32_t sum, std::uint32_t sequence_id);

/// n chunks; contributions go straight to the chunk's owner and sums straight to every rank.
/// Contributions travel in the narrow form, and no partial sum does.
/// Disjoint contributions that every rank gets the sum of: gather_disjoint(). An allgather:
/// exchange_parts().
Schedule build_direct(const AlgorithmInput& input);

/// n chunks; each rank's own goes to all others as it is: an allgather. Wide form.
Schedule exchange_parts(const AlgorithmInput& input);

/// One chunk; disjoint contributions go to every rank, which merges them all. Narrow form.
Schedule gather_disjoint(const AlgorithmInput& input);

/// n chunks; ranks exchange digit by digit, near ones first: those of a node, then the nodes. Up to
/// 16 nodes exchange as direct does, or where switches are known those of a switch first; more
/// exchange as grid does. Ranks that are all on one node count as nodes here. Contributions travel
/// in the narrow form, partial sums in the wide one.
Schedule build_mixed_radix(const AlgorithmInput& input);

/// n chunks; halves of the ranks exchange halves of the chunks, then quarters, ...: mixed radix
/// with radix 2, wherever ranks are. Forms as above.
Schedule build_recursive_halving(const AlgorithmInput& input);

/// n chunks; ranks in rows of about sqrt(n), which exchange first, and then the columns: mixed
/// radix with two digits, wherever ranks are. Forms as above.
Schedule build_grid(const AlgorithmInput& input);

/// One chunk; binomial reduce to rank 0, then binomial broadcast. Wide form.
Schedule build_tree(const AlgorithmInput& input);

/// One chunk; pairs of ranks exchange partial sums over doubling distances. Wide form.
Schedule build_recursive_doubling(const AlgorithmInput& input);

/// One chunk; the MPI library reduces the words. Wide form.
Schedule build_native_reduction(const AlgorithmInput& input);

/// One chunk; an aggregator that may fail sums the words, next to the contributions. Wide form.
Schedule build_offload(const AlgorithmInput& input);

}  // namespace cohom
