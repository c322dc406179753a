#pragma once
// Whether MPI's own reduction sums for the calls of a plan: always, in a race, or never.

#include "memory/placement.hpp"
#include "plan/plan_codec.hpp"
#include "plan/plan_environment.hpp"
#include "plan/plan_options.hpp"
#include "plan/plan_shape.hpp"
#include "plan/route_choice.hpp"
#include "plan/route_races.hpp"

#include <cstddef>

namespace cohom {

/// What the choice depends on, besides environment and options.
struct NativeQuestion {
  const PlanCodec& codec;
  const PlanShape& shape;
  CallKind kind;
  std::size_t bytes;  ///< of the vector, with all its parts
  bool keeps_state;   ///< the codec does, of what the user asked for
  const Placement& placement;
};

/// Makes `choice` the native algorithm where it was asked for, always or by a file; or the
/// algorithm that the file names. Returns what sums by it, alone or in a race; null: it never sums.
/// @throws Error(unsupported) where it was asked for and cannot sum.
NativeSums* choose_native(const PlanEnvironment& environment, const PlanOptions& options,
                          const NativeQuestion& question, RouteChoice& choice);

}  // namespace cohom
