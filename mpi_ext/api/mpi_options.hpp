#pragma once
// The keys of an MPI_Info that choose about an allreduce.

#include <cohom/options.hpp>

#include <mpi.h>

namespace cohom::mpi {

/// Keys that do not start with cohom_ belong to others and are ignored. MPI_INFO_NULL gives the
/// defaults. @throws what set_option() does, and Error(transport) of MPI itself.
Options options_of(MPI_Info info);

/// What it says about the communicator that a first call makes, and nothing else: a wrong key is told to
/// all ranks once there is one. @throws Error(transport) of MPI itself.
Options communicator_options_of(MPI_Info info);

}  // namespace cohom::mpi
