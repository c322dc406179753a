#pragma once
// Forces one of Open MPI's allreduce algorithms, for one communicator.

#include <mpi.h>

#include <string>

namespace cohom::bench {

struct TunedAlgorithm {
  std::string name;
  int number;  ///< a value of Open MPI's coll_tuned_allreduce_algorithm
};

inline const TunedAlgorithm tuned_algorithms[] = {{"forced ring", 4}, {"forced Rabenseifner", 6}};

/// A duplicate of `comm` on which MPI_Allreduce takes the algorithm; MPI_COMM_NULL, on all ranks
/// alike, where the MPI library cannot be told. Collective.
MPI_Comm duplicate_with_algorithm(MPI_Comm comm, int number);

}  // namespace cohom::bench
