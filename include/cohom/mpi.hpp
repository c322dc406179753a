#pragma once
// cohom over MPI, for C++ programs.

#include <cohom/communicator.hpp>
#include <cohom/options.hpp>

#include <mpi.h>

#include <memory>

namespace cohom::mpi {

/// A communicator over the ranks of `comm`, which is duplicated (tags of our own). Of the options it
/// reads Options::transport. Collective. Must be destroyed before MPI_Finalize.
/// @throws Error(invalid_argument) for MPI_COMM_NULL, an intercommunicator, before MPI_Init or after
/// MPI_Finalize: on this rank alone. On all ranks alike: invalid_argument or mismatch for a transport
/// or a COHOM_MESSAGE_BYTES that is wrong or differs, unsupported for a transport that this library
/// was built without or when MPI has too few tags, transport when UCX cannot start.
Communicator communicator(MPI_Comm comm, const Options& options = {});

/// The library's own communicator for `comm`, cached on it (MPI attribute) and freed with it; made
/// on first use, which is collective and alone reads the options. What the C API uses. The reference
/// lives as long as `comm`. @throws what communicator() does.
Communicator& cached_communicator(MPI_Comm comm, const Options& options = {});

}  // namespace cohom::mpi
