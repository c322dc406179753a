#pragma once
// What `cohom-info --topology` prints where there is MPI.

namespace cohom::bench {

/// Rank 0 prints its machine and, where there are several ranks, where all of them are. Collective:
/// initialises MPI and finalises it again. Needs no launcher. @returns the exit status, on all
/// ranks; errors that all ranks have are told by rank 0 alone.
int print_job_topology();

}  // namespace cohom::bench
