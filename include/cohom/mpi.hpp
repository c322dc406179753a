#pragma once
// cohom over MPI, for C++ programs.

#include <cohom/communicator.hpp>

#include <mpi.h>

#include <memory>

namespace cohom::mpi {

/// A communicator over the ranks of `comm`, which is duplicated (tags of our own). Collective.
/// Must be destroyed before MPI_Finalize.
/// @throws Error(invalid_argument) for MPI_COMM_NULL, an intercommunicator, before MPI_Init or after
/// MPI_Finalize: on this rank alone. On all ranks alike: invalid_argument or mismatch for a
/// COHOM_MESSAGE_BYTES that is wrong or differs, unsupported when MPI has too few tags.
Communicator communicator(MPI_Comm comm);

/// The library's own communicator for `comm`, cached on it (MPI attribute) and freed with it; made
/// on first use, which is collective. What the C API uses. The reference lives as long as `comm`.
/// @throws what communicator() does.
Communicator& cached_communicator(MPI_Comm comm);

}  // namespace cohom::mpi
