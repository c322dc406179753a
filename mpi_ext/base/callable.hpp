#pragma once
// What must be true of MPI and of a user's communicator before anything else is asked of them.

#include <mpi.h>

namespace cohom::mpi {

/// @throws Error(invalid_argument) before MPI_Init and after MPI_Finalize.
void check_callable();

/// @throws Error(invalid_argument) when MPI cannot be called, or `comm` is MPI_COMM_NULL or an
/// intercommunicator: the errors that other ranks cannot be told of.
void check_usable(MPI_Comm comm);

}  // namespace cohom::mpi
