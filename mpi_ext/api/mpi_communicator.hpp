#pragma once
// The library's communicator for a user's one: made once, cached on it, freed with it.

#include "mpi_ext/api/mpi_options.hpp"

#include <cohom/mpi.hpp>

#include <mpi.h>

#include <memory>

namespace cohom::mpi {

/// What hangs on a user's communicator. Requests and plans of the C API hold it too, so that it
/// outlives the user's communicator when that is freed first.
struct CachedCommunicator {
  CachedCommunicator(MPI_Comm comm, const Options& options)
      : communicator(mpi::communicator(comm, options)), user(comm) {}

  Communicator communicator;
  /// For its error handler; MPI_COMM_NULL once the user freed it.
  MPI_Comm user;
};

/// Collective when it is the first call for `comm`, which alone reads the options.
/// @throws what communicator() does.
std::shared_ptr<CachedCommunicator> shared_communicator(MPI_Comm comm, const Options& options = {});

/// Local: null when there is none yet. @throws what check_usable() does.
std::shared_ptr<CachedCommunicator> find_communicator(MPI_Comm comm);

/// shared_communicator(), and what the call's Info says, which is read once.
struct CallHome {
  CallHome(MPI_Comm comm, MPI_Info info);

  std::shared_ptr<CachedCommunicator> communicator;
  InfoOptions info;
};

}  // namespace cohom::mpi
