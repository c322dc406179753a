#pragma once
// cohom over MPI, for C++ programs.

#include <cohom/cxx20.hpp>

#include <cohom/communicator.hpp>
#include <cohom/options.hpp>

#include <mpi.h>

#include <memory>

namespace cohom::mpi {

/// The ranks of this rank's own program. mpirun can start several programs as one job, an
/// aggregator among them (`mpirun -n 4 app : -n 1 cohom-aggregator`); MPI_COMM_WORLD holds the
/// ranks of all, and programs then use this communicator in its place. Calls on it and on its
/// duplicates that name no aggregator go to that one, which needs neither an address nor
/// COHOM_AGGREGATOR_TOKEN. In a job of one program it holds the same ranks as MPI_COMM_WORLD. The
/// first call is collective over MPI_COMM_WORLD, before any other on it; MPI_Finalize then waits
/// for all programs and frees the communicator, which the caller must not.
/// @throws Error(invalid_argument) before MPI_Init, after MPI_Finalize and, on all ranks alike, for
/// a job with several aggregators.
MPI_Comm program_ranks();

/// A communicator over the ranks of `comm`, which is duplicated (tags of our own). Of the options
/// it reads Options::transport. Collective. Must be destroyed before MPI_Finalize.
/// @throws Error(invalid_argument) for MPI_COMM_NULL, an intercommunicator, before MPI_Init or
/// after MPI_Finalize: on this rank alone. On all ranks alike: invalid_argument or mismatch for a
/// transport or a COHOM_MESSAGE_BYTES that is wrong or differs, unsupported for a transport that
/// this library was built without or when MPI has too few tags, transport when UCX cannot start.
Communicator communicator(MPI_Comm comm, const Options& options = {});

/// The library's own communicator for `comm`, cached on it (MPI attribute) and freed with it; made
/// on first use, which is collective and alone reads the options. What the C API uses. The
/// reference lives as long as `comm`. @throws what communicator() does.
Communicator& cached_communicator(MPI_Comm comm, const Options& options = {});

}  // namespace cohom::mpi
