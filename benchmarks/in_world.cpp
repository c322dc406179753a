#include "in_world.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>

namespace cohom::bench {

int run_in_world(const std::function<int()>& body) {
  MPI_Init(nullptr, nullptr);
  int rank = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    status = body();
  } catch (const Error& error) {
    if (rank == 0) fmt::print(stderr, "cohom-info: {}\n", error.what());
    status = 2;
  }
  MPI_Finalize();
  return status;
}

}  // namespace cohom::bench
