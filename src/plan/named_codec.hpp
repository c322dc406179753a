#pragma once
// The codec that the options of a plan name, or that `auto` takes.

#include "plan/plan_codec.hpp"
#include "plan/plan_environment.hpp"
#include "plan/plan_options.hpp"
#include "plan/plan_vector.hpp"

#include <cstdint>

namespace cohom {

struct NamedCodec {
  PlanCodec codec;
  bool by_length;  ///< it was chosen by it: others may have another
};

/// `divisor`: of the sum. Rank 0 logs a choice. @throws Error(invalid_argument) as PlanCodec() and
/// choose_codec() do
NamedCodec named_codec(const PlanEnvironment& environment, const PlanVector& vector,
                       const PlanOptions& options, std::uint64_t divisor);

}  // namespace cohom
