#pragma once
// PlanRace: whether the calls of a plan race MPI's own reduction, and by which ways.

#include "plan/plan_environment.hpp"
#include "plan/plan_shape.hpp"
#include "plan/route_races.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <string>

namespace cohom {

struct PlanRace {
  /// Of calls of a vector of that shape, which may travel with the words of their agreement or not.
  [[nodiscard]] bool holds(const PlanEnvironment& environment, const PlanShape& shape,
                           bool may_travel) const;
  /// That race; null: there is none. `codec`: the plan's, which may bypass `asked_codec`.
  [[nodiscard]] RouteRaces::Entry* of(const PlanEnvironment& environment, const PlanShape& shape,
                                      bool may_travel, const std::string& codec,
                                      const std::string& asked_codec) const;
  /// Whether a plan in the race has another way of its own.
  [[nodiscard]] bool has_other() const { return entry != nullptr && other != nullptr; }

  NativeSums* sums = nullptr;           ///< native; null: there is no race
  const AlgorithmRow* own = nullptr;    ///< of the plan
  const AlgorithmRow* other = nullptr;  ///< of the other way; null: there is none
  RouteRaces::Entry* entry = nullptr;   ///< the plan's; null: it is in none
};

}  // namespace cohom
