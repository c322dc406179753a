#pragma once
// Errors of the C API: one MPI error class for the library, one code for each kind of error.

#include "mpi_ext/base/mpi_check.hpp"

#include <cohom/error.hpp>

#include <mpi.h>

namespace cohom::mpi {

/// Makes `text` the text of the kind's error code, calls the error handler of `comm` (of
/// MPI_COMM_WORLD when it is MPI_COMM_NULL) and returns the code. The handler may end the program,
/// as MPI's default one does. When MPI cannot be called, writes a line to stderr and returns
/// MPI_ERR_OTHER.
///
/// MPI cannot give codes back, so an error does not get a code of its own: a code's text is that of
/// its kind's last error.
int raise(MPI_Comm comm, ErrorKind kind, const char* text) noexcept;

/// The same for one of MPI's own codes.
int raise(MPI_Comm comm, int mpi_code) noexcept;

/// Runs one function of the C API: exceptions end here. `comm` is asked for after a failure,
/// because the function may find its communicator on the way.
template <class Function, class CommOf>
int guarded(Function&& function, CommOf&& comm_of) noexcept {
  try {
    function();
    return MPI_SUCCESS;
  } catch (const Error& error) {
    return raise(comm_of(), error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return raise(comm_of(), MPI_ERR_NO_MEM);
  } catch (...) {
    return raise(comm_of(), MPI_ERR_INTERN);
  }
}

}  // namespace cohom::mpi
