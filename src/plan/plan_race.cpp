#include "plan/plan_race.hpp"

#include "agreement/short_sum.hpp"

#include <cstddef>

namespace cohom {

namespace {

/// Of the vector, with all its parts.
std::size_t bytes_of(const PlanEnvironment& environment, const PlanShape& shape) {
  return shape.elements(environment.transport->ranks()) * size_of(shape.type);
}

}  // namespace

/// What travels with the agreement is mostly over when a native sum could begin.
bool PlanRace::holds(const PlanEnvironment& environment, const PlanShape& shape,
                     bool may_travel) const {
  if (sums == nullptr) return false;
  const bool is_part = shape.collective != ReductionKind::allreduce;
  return !may_travel ||
         !(is_part || ShortSum::pays(bytes_of(environment, shape), environment.has_board));
}

RouteRaces::Entry* PlanRace::of(const PlanEnvironment& environment, const PlanShape& shape,
                                bool may_travel, const std::string& codec,
                                const std::string& asked_codec) const {
  if (!holds(environment, shape, may_travel)) return nullptr;
  OwnWays ways{.codec = codec, .algorithm = own->name};
  if (third != nullptr) {
    ways.third_codec = third_codec;
    ways.third_algorithm = third->name;
  }
  return &environment.races->of(kind_of(shape, environment.transport->ranks(), asked_codec),
                                bytes_of(environment, shape), ways);
}

}  // namespace cohom
