#pragma once
// What the drop-in library does in place of MPI's functions.

#include "mpi_ext/drop_in/drop_in_call.hpp"
#include "mpi_ext/drop_in/drop_in_counts.hpp"

#include <mpi.h>

namespace cohom::mpi {

/// MPI_Allreduce or MPI_Reduce_scatter_block, which the library compresses where a rule says so,
/// and leaves to MPI else. All ranks decide alike: by what MPI wants to be the same on all of them,
/// and by rules that they have compared. Collective. @returns an error code, after the
/// communicator's error handler
int drop_in_reduction(const DropInCall& call) noexcept;

/// A call that stays MPI's whatever the rules say is counted. Local.
void drop_in_other_form(OtherForm form) noexcept;

/// The communicator has got these Info keys. @returns an error code, likewise
int drop_in_keys(MPI_Comm comm, MPI_Info info) noexcept;

}  // namespace cohom::mpi
