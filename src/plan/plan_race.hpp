#pragma once
// PlanRace: whether the calls of a plan race MPI's own reduction, and by which ways.

#include "plan/plan_environment.hpp"
#include "plan/plan_shape.hpp"
#include "plan/route_races.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <string>

namespace cohom {

struct PlanRace {
  /// Whether calls of a vector of that shape race. `may_travel`: with the words of their agreement.
  [[nodiscard]] bool holds(const PlanEnvironment& environment, const PlanShape& shape,
                           bool may_travel) const;
  /// That race; null: there is none. `codec`: the plan's, in place of `asked_codec` or the same.
  [[nodiscard]] RouteRaces::Entry* of(const PlanEnvironment& environment, const PlanShape& shape,
                                      bool may_travel, const std::string& codec,
                                      const std::string& asked_codec) const;
  /// Whether the plan's calls may go a third way.
  [[nodiscard]] bool has_third() const { return entry != nullptr && third != nullptr; }

  NativeSums* sums = nullptr;           ///< native, of a race or of all calls; null: none
  const AlgorithmRow* own = nullptr;    ///< of the plan
  const AlgorithmRow* third = nullptr;  ///< of the third way; null: there is none
  std::string third_codec;              ///< its spec
  RouteRaces::Entry* entry = nullptr;   ///< the plan's; null: it is in none
};

}  // namespace cohom
