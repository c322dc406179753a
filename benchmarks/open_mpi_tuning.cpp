// Open MPI lets a program write its tuning parameters through MPI's tool interface (MPI_T). The
// component `tuned` reads them whenever a communicator is made, and keeps what it read.

#include "open_mpi_tuning.hpp"

#include "mpi_ext/base/mpi_variable.hpp"

namespace cohom::bench {
namespace {

constexpr const char* dynamic_rules = "coll_tuned_use_dynamic_rules";
constexpr const char* allreduce_algorithm = "coll_tuned_allreduce_algorithm";

using mpi::MpiVariable;

bool on_all_ranks(MPI_Comm comm, bool here) {
  int all = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all == 1;
}

}  // namespace

MPI_Comm duplicate_with_algorithm(MPI_Comm comm, int number) {
  const mpi::ToolInterface tool;
  if (!on_all_ranks(comm, tool.ready())) return MPI_COMM_NULL;
  const MpiVariable algorithm(allreduce_algorithm);
  const int before = algorithm.read(0);
  const bool forced = MpiVariable(dynamic_rules).read(0) != 0 && algorithm.write(number);
  MPI_Comm duplicate = MPI_COMM_NULL;
  if (on_all_ranks(comm, forced)) MPI_Comm_dup(comm, &duplicate);
  if (forced) algorithm.write(before);
  return duplicate;
}

}  // namespace cohom::bench
