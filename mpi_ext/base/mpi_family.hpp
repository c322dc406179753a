#pragma once
// The family of MPI libraries that this one was compiled for, and the one that the process has.

#include <string>
#include <string_view>

namespace cohom::mpi {

/// Of this library. In one family programs and libraries fit each other.
std::string_view mpi_family();

/// Why this library cannot be used with the MPI of the process, whose handles mean nothing to it;
/// empty: it can. At any time.
const std::string& why_other_mpi();

/// Says that on rank 0, and ends the process: there is no handle by which an error could be told.
void expect_own_mpi();

}  // namespace cohom::mpi
