#pragma once
// What of a plan must be equal on all ranks.

#include "agreement/call_signature.hpp"
#include "plan/plan_options.hpp"
#include "plan/plan_shape.hpp"

#include <cohom/plan.hpp>

#include <cstddef>
#include <string>

namespace cohom {

struct SignedPlan {
  const PlanShape& shape;
  const PlanOptions& options;  ///< as asked for
  const PlanDescription& description;
  const std::string& asked_codec;  ///< which the description's may take the place of
  std::size_t message_bytes;
  bool offloads;  ///< calls go to an aggregator in the network
};

void sign_plan(const SignedPlan& plan, CallSignature& signature);
/// What depends on the buffers of a call.
void sign_memory(const PlanOptions& options, const PlanDescription& description,
                 CallSignature& signature);

}  // namespace cohom
