#include "shared_failure.hpp"

#include <new>
#include <string>

namespace cohom::bench {

void run_on_all_ranks(MPI_Comm comm, const std::function<void()>& local_work) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int first_failing = ranks;
  std::string message;
  try {
    local_work();
  } catch (const std::bad_alloc&) {
    first_failing = rank;
    message = "out of memory";
  } catch (const std::exception& error) {
    first_failing = rank;
    message = error.what();
  }
  MPI_Allreduce(MPI_IN_PLACE, &first_failing, 1, MPI_INT, MPI_MIN, comm);
  if (first_failing == ranks) return;
  auto length = static_cast<int>(message.size());
  MPI_Bcast(&length, 1, MPI_INT, first_failing, comm);
  message.resize(static_cast<std::size_t>(length));
  MPI_Bcast(message.data(), length, MPI_CHAR, first_failing, comm);
  // Rank 0 speaks for the usual case, in which all ranks failed in the same way.
  throw SharedFailure(
      first_failing == 0 ? message : "rank " + std::to_string(first_failing) + ": " + message);
}

}  // namespace cohom::bench
