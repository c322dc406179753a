#pragma once
// The plan of a call, whichever reduction it is.

#include <cohom/plan.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>

namespace cohom::bench {

/// Of a vector of so many elements, which for a reduce_scatter are a multiple of the ranks. The
/// root of a reduce is rank 0. Collective. @throws what AllreducePlan() throws
inline Plan reduction_plan(ReductionKind collective, Communicator& communicator,
                           std::size_t elements, ElementType type, const Options& options) {
  switch (collective) {
    case ReductionKind::reduce_scatter:
      return ReduceScatterPlan(
          communicator, elements / static_cast<std::size_t>(communicator.ranks()), type, options);
    case ReductionKind::reduce: return ReducePlan(communicator, elements, type, 0, options);
    default: return AllreducePlan(communicator, elements, type, options);
  }
}

}  // namespace cohom::bench
