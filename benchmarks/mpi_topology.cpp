#include "mpi_topology.hpp"

#include "base/text.hpp"
#include "in_world.hpp"
#include "mpi_ext/base/mpi_agreement.hpp"
#include "topology_text.hpp"

#include <cohom/communicator.hpp>
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

int print_of_world() {
  const Communicator communicator = mpi::communicator(MPI_COMM_WORLD);
  const Topology& topology = communicator.topology();
  const auto cores = cores_of_all(topology);
  if (communicator.rank() != 0) return 0;
  fmt::print("{}", machine_topology_text());
  if (communicator.ranks() > 1) fmt::print("{}", ranks_text(topology, cores));
  return 0;
}

}  // namespace

int print_job_topology() { return run_in_world(print_of_world); }

}  // namespace cohom::bench
