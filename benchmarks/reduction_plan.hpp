#pragma once
// The plan of a call, whichever reduction it is.

#include <cohom/plan.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>

namespace cohom::bench {

/// Whether a vector has a part for each rank.
constexpr bool has_parts(ReductionKind collective) {
  return collective == ReductionKind::reduce_scatter || collective == ReductionKind::allgather;
}

/// Of a vector of so many elements, which where it has parts are a multiple of the ranks. The root
/// of a reduce is rank 0. Collective. @throws what AllreducePlan() throws
inline Plan reduction_plan(ReductionKind collective, Communicator& communicator,
                           std::size_t elements, ElementType type, const Options& options) {
  const std::size_t part = elements / static_cast<std::size_t>(communicator.ranks());
  switch (collective) {
    case ReductionKind::reduce_scatter: return ReduceScatterPlan(communicator, part, type, options);
    case ReductionKind::allgather: return AllgatherPlan(communicator, part, type, options);
    case ReductionKind::reduce: return ReducePlan(communicator, elements, type, 0, options);
    default: return AllreducePlan(communicator, elements, type, options);
  }
}

}  // namespace cohom::bench
