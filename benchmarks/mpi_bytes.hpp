#pragma once
// Bytes that this process hands to MPI for reduction: what algorithm=fabric moves, whose messages
// only the MPI library sees.

#include <cstdint>

namespace cohom::bench {

/// Bytes given to MPI_Iallreduce so far, by anyone in this process.
std::uint64_t bytes_handed_to_mpi();

}  // namespace cohom::bench
