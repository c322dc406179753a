#include "mpi_ext/base/owned_comm.hpp"

#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <optional>

namespace cohom::mpi {

/// A duplicate that another rank lacks is not freed: that would take all ranks.
OwnedComm::OwnedComm(MPI_Comm comm) {
  std::optional<Error> error;
  try {
    check(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &comm_), "MPI_Comm_dup_with_info");
  } catch (const Error& failed) {
    error = failed;
  }
  throw_on_all_ranks(comm, error);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

OwnedComm::~OwnedComm() {
  if (comm_ != MPI_COMM_NULL && !finalized()) MPI_Comm_free(&comm_);
}

int OwnedComm::rank() const {
  int rank = 0;
  check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
  return rank;
}

int OwnedComm::ranks() const {
  int ranks = 0;
  check(MPI_Comm_size(comm_, &ranks), "MPI_Comm_size");
  return ranks;
}

}  // namespace cohom::mpi
