#pragma once
// Work to do at the start of MPI_Finalize, while MPI still works.

namespace cohom::mpi {

/// Calls `action` in MPI_Finalize. Actions run in the reverse order of registration. An action must
/// not throw. Call it between MPI_Init and MPI_Finalize. @throws Error(transport)
void at_finalize(void (*action)());

}  // namespace cohom::mpi
