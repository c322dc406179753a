#include "plan/plan_signature.hpp"

#include "plan/route_choice.hpp"

#include <cohom/version.hpp>

#include <string>
#include <string_view>

namespace cohom {

/// In the order in which differences are named: what the user wrote first, what follows from it
/// last.
void sign_plan(const SignedPlan& plan, CallSignature& signature) {
  const PlanOptions& options = plan.options;
  const PlanDescription& description = plan.description;
  const bool by_address = plan.offloads && !options.aggregator.empty();
  signature.number("wire format version", wire_format_version);
  signature.number("count", plan.shape.count);
  signature.text("element type", std::string(name_of(plan.shape.type)));
  signature.text("op", std::string(name_of(options.op)));
  const bool by_decisions = options.native == NativeUse::automatic && options.follows_file;
  signature.text(
      "native", std::string(name_of(options.native)) + (by_decisions ? " by COHOM_DECISIONS" : ""));
  const bool bypassed = plan.asked_codec != description.codec;
  const std::string_view by_file =
      description.reason == decided_by_file ? ", as COHOM_DECISIONS says" : "";
  signature.text("codec", description.codec + (bypassed ? " in place of " + plan.asked_codec : ""),
                 bypassed ? by_file : "");
  signature.text("algorithm",
                 description.algorithm + (by_address ? " by " + options.aggregator : ""), by_file);
  signature.number("segment", description.segment);
  signature.number("message bytes", plan.message_bytes);
  signature.text("checksum", options.checksum ? "on" : "off");
}

/// Segments are cut as the memory likes it, unless somebody says how: then ranks need not agree on
/// it.
void sign_memory(const PlanOptions& options, const PlanDescription& description,
                 CallSignature& signature) {
  signature.text("memory space", options.segment != 0 ? "any" : description.memory);
}

}  // namespace cohom
