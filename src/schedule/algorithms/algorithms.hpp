#pragma once
// The builders of the algorithm table, one file each. `n` below is the number of ranks.

#include "schedule/algorithms/algorithm.hpp"

namespace cohom {

/// n chunks; a reduce-scatter around the ring, then an allgather around it. Wide form.
Schedule build_ring(const AlgorithmInput& input);

/// n chunks; contributions go straight to the chunk's owner and sums straight to every rank.
/// The only algorithm that uses the narrow form, because only here no partial sum travels.
/// Disjoint contributions: one chunk, whose contributions go to every rank, and no sums.
Schedule build_direct(const AlgorithmInput& input);

/// One chunk; binomial reduce to rank 0, then binomial broadcast. Wide form.
Schedule build_tree(const AlgorithmInput& input);

/// One chunk; pairs of ranks exchange partial sums over doubling distances. Wide form.
Schedule build_recursive_doubling(const AlgorithmInput& input);

/// One chunk; the MPI library reduces the words. Wide form.
Schedule build_native_reduction(const AlgorithmInput& input);

/// One chunk; an aggregator that may fail sums the words, next to the contributions. Wide form.
Schedule build_offload(const AlgorithmInput& input);

}  // namespace cohom
