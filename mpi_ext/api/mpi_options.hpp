#pragma once
// The keys of an MPI_Info that choose about an allreduce.

#include <cohom/error.hpp>
#include <cohom/options.hpp>

#include <mpi.h>

#include <optional>
#include <string>

namespace cohom::mpi {

struct InfoOptions {
  Options options;             ///< of all keys that are right
  std::optional<Error> error;  ///< of the first one that is wrong, to be told to all ranks
};

/// Keys that do not start with cohom_ belong to others and are ignored. MPI_INFO_NULL gives the
/// defaults. Errors are those of set_option(), of MPI itself, and of missing memory.
InfoOptions options_of(MPI_Info info);

/// Of a key that is there. @throws Error(transport) of MPI itself.
std::string info_value(MPI_Info info, const char* key);

}  // namespace cohom::mpi
