#include "mpi_program.hpp"

#include "base/standard_output.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace cohom::bench {

int run_guarded(std::string_view program, const std::function<int()>& work) {
  int rank = 0;
  try {
    MPI_Comm_rank(mpi::program_ranks(), &rank);
    return work();
  } catch (const SharedFailure& failure) {
    if (rank == 0) fmt::print(stderr, "{}: {}\n", program, failure.what());
  } catch (const Error& error) {  // the library's errors reach all ranks
    if (rank == 0) fmt::print(stderr, "{}: {}\n", program, error.what());
  } catch (const std::exception& error) {
    // One rank alone: the others would wait for it for ever.
    fmt::print(stderr, "{}: rank {}: {}\n", program, rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, cannot_run);
  }
  return cannot_run;
}

void print(const Information& information) {
  int rank = 0;
  MPI_Comm_rank(mpi::program_ranks(), &rank);
  if (rank != 0) return;
  fmt::print("{}", information.text);
  flush_standard_output();
}

}  // namespace cohom::bench
