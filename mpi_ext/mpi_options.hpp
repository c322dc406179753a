#pragma once
// The keys of an MPI_Info that choose about an allreduce.

#include <cohom/options.hpp>

#include <mpi.h>

namespace cohom::mpi {

/// Reads cohom_codec, cohom_algorithm, cohom_op, cohom_segment and cohom_buffer. Keys that do not
/// start with cohom_ belong to others and are ignored. MPI_INFO_NULL gives the defaults.
/// @throws Error(invalid_argument) for another key with cohom_ (naming the nearest valid one), or a
/// cohom_op or cohom_segment that is not one. The other values are checked where they are used.
Options options_of(MPI_Info info);

}  // namespace cohom::mpi
