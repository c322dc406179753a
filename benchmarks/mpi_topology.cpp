#include "mpi_topology.hpp"

#include "base/text.hpp"
#include "mpi_ext/base/mpi_agreement.hpp"
#include "topology_text.hpp"

#include <cohom/communicator.hpp>
#include <cohom/error.hpp>
#include <cohom/mpi.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohom::bench {

namespace {

/// One that gathers, so all ranks call it.
std::vector<std::string> cores_of_all(const Topology& topology) {
  const std::string own = cores_text(topology.cores);
  std::vector<std::string> all;
  for (const auto& bytes : mpi::gather_bytes(MPI_COMM_WORLD, std::as_bytes(std::span(own))))
    all.push_back(
        printable(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  return all;
}

void print_of_world() {
  const Communicator communicator = mpi::communicator(MPI_COMM_WORLD);
  const Topology& topology = communicator.topology();
  const auto cores = cores_of_all(topology);
  if (communicator.rank() != 0) return;
  fmt::print("{}", machine_topology_text());
  if (communicator.ranks() > 1) fmt::print("{}", ranks_text(topology, cores));
}

}  // namespace

int print_job_topology() {
  MPI_Init(nullptr, nullptr);
  int rank = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    print_of_world();
  } catch (const Error& error) {  // the library's errors reach all ranks
    if (rank == 0) fmt::print(stderr, "cohom-info: {}\n", error.what());
    status = 2;
  }
  MPI_Finalize();
  return status;
}

}  // namespace cohom::bench
