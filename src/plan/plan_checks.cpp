#include "plan/plan_checks.hpp"

#include "base/tags.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

void check_ranks(int ranks) {
  if (ranks > max_ranks)
    throw Error(ErrorKind::unsupported, std::to_string(ranks) + " ranks; at most " +
                                            std::to_string(max_ranks) + " are supported");
}

void check_transport(std::string_view wanted, const Transport& transport) {
  if (wanted.empty() || wanted == transport.name()) return;
  throw Error(
      ErrorKind::invalid_argument,
      "transport \"" + std::string(wanted) + "\" is not this communicator's, which is " +
          std::string(transport.name()) +
          "; it is chosen when a communicator is made (MPIX_ functions: in the first call)");
}

void check_op(const PlanShape& shape, ReduceOp op) {
  if (shape.gathers() && op != ReduceOp::sum)
    throw Error(ErrorKind::invalid_argument, "op is " + std::string(name_of(op)) + ", and an " +
                                                 shape.text() +
                                                 " adds nothing; leave op as it is (sum)");
}

void check_own_thread(const Transport& transport, const AlgorithmRow& algorithm, bool mpi_sums) {
  std::string why = transport.why_not_in_own_thread();
  if (why.empty() && mpi_sums)
    why =
        "algorithm " + std::string(algorithm.name) + " is MPI's, which sums in the caller's thread";
  if (!why.empty())
    throw Error(ErrorKind::unsupported, "progress=thread: " + why + "; take progress=call");
}

}  // namespace cohom
