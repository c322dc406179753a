// The C API: state kept under a buffer name on a communicator. Local, but for a restore that is the
// first use of a communicator.

#include <cohom/mpix.h>

#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/api/mpix_arguments.hpp"

#include <string>

using namespace cohom;

extern "C" {

int MPIX_Compressed_save_state(MPI_Comm comm, const char* buffer, void* state, MPI_Count* bytes) {
  return mpi::guarded(
      [&] {
        const auto home = mpi::find_communicator(comm);
        mpi::require(buffer, "buffer");
        mpi::require(bytes, "bytes");
        if (!home)
          throw Error(ErrorKind::invalid_argument, "there is no state of buffer '" +
                                                       std::string(buffer) +
                                                       "': no call was made on this communicator");
        mpi::copy_state(home->communicator.save_state(buffer), state, bytes);
      },
      [&] { return comm; });
}

int MPIX_Compressed_restore_state(MPI_Comm comm, const char* buffer, const void* state,
                                  MPI_Count bytes) {
  return mpi::guarded(
      [&] {
        const auto home = mpi::shared_communicator(comm);
        mpi::require(buffer, "buffer");
        home->communicator.restore_state(buffer, mpi::saved_state(state, bytes));
      },
      [&] { return comm; });
}

int MPIX_Compressed_reset_state(MPI_Comm comm, const char* buffer) {
  return mpi::guarded(
      [&] {
        const auto home = mpi::find_communicator(comm);
        mpi::require(buffer, "buffer");
        if (home) home->communicator.reset_state(buffer);
      },
      [&] { return comm; });
}

}  // extern "C"
