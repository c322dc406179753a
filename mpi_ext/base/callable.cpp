#include "mpi_ext/base/callable.hpp"

#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/base/thread_level.hpp"

#include <cohom/error.hpp>

namespace cohom::mpi {

void check_callable() {
  if (!initialized())
    throw Error(ErrorKind::invalid_argument, "MPI is not initialized; call MPI_Init first");
  if (finalized())
    throw Error(ErrorKind::invalid_argument,
                "MPI is finalized; cohom must be called before MPI_Finalize");
  check_calling_thread();
}

void check_usable(MPI_Comm comm) {
  check_callable();
  const auto reject = [](const char* why) { throw Error(ErrorKind::invalid_argument, why); };
  if (comm == MPI_COMM_NULL) reject("the communicator is MPI_COMM_NULL");
  int between_groups = 0;
  check(MPI_Comm_test_inter(comm, &between_groups), "MPI_Comm_test_inter");
  if (between_groups != 0)
    reject("the communicator is an intercommunicator; merge it with MPI_Intercomm_merge first");
}

}  // namespace cohom::mpi
