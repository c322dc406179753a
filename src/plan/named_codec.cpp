#include "plan/named_codec.hpp"

#include "base/log.hpp"
#include "plan/auto_codec.hpp"

#include <string>
#include <utility>

namespace cohom {

NamedCodec named_codec(const PlanEnvironment& environment, const PlanVector& vector,
                       const PlanOptions& options, std::uint64_t divisor) {
  const PlanShape& shape = vector.shape;
  const int rank = environment.transport->rank();
  const ChosenCodec chosen =
      choose_codec(options.codec, {.algorithm = options.algorithm,
                                   .elements = vector.count,
                                   .type = shape.type,
                                   .ranks = vector.ranks,
                                   .gathers = shape.gathers(),
                                   .allreduce = shape.collective == ReductionKind::allreduce,
                                   .nodes = environment.nodes,
                                   .switches = environment.switches});
  const bool by_length = !chosen.reason.empty();
  if (by_length)
    log_once_for_all(rank, "codec " + options.codec + " for " + std::to_string(vector.bytes()) +
                               " bytes is " + chosen.spec + ": " + chosen.reason);
  PlanCodec codec(chosen.spec, {.rank = rank,
                                .ranks = vector.ranks,
                                .type = shape.type,
                                .divisor = divisor,
                                .kernels = *environment.kernels,
                                .elements = vector.count,
                                .mean = options.op == ReduceOp::mean});
  if (shape.gathers()) codec.compress_parts(shape.count);
  return {.codec = std::move(codec), .by_length = by_length};
}

}  // namespace cohom
