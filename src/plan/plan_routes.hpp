#pragma once
// PlanRoutes: the routes that a plan has besides native, and the memory that calls by them take.

#include "plan/plan_part.hpp"
#include "plan/plan_route.hpp"

#include <cohom/plan.hpp>

#include <cstddef>

namespace cohom {

struct PlanRoutes {
  /// What a call needs that does not go natively: before its codec begins, behind the part's
  /// prepare(). Does nothing where an earlier call took it, or all calls go natively.
  /// @throws std::bad_alloc or Error
  void take_memory();
  /// Sizes of what they have, for a vector of so many elements.
  void describe(std::size_t elements, PlanDescription& description) const;

  /// Of calls, where the plan offloads of those that all ranks can offload. It has no executor
  /// where all calls go natively.
  PlanRoute first;
  PlanRoute other;           ///< of all other calls; without an executor: there are none
  PlanPart* part = nullptr;  ///< the plan's, of what is no allreduce
};

}  // namespace cohom
