#include "plan/native_choice.hpp"

#include "base/log.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

namespace {

/// Why MPI's own reduction cannot sum for a codec; empty: it can.
std::string why_not_native(const NativeSums* native, const NativeQuestion& question) {
  const PlanCodec& codec = question.codec;
  if (native == nullptr) return "this communicator was not made from one of MPI's";
  if (codec.bounds_errors() || codec.takes_many())
    return "codec " + codec.spec() + " promises what MPI's sums do not keep";
  if (question.keeps_state)
    return "codec " + codec.spec() + " keeps state, which these calls would miss";
  if (question.placement.on_device()) return "a buffer lies on a device";
  return native->why_not(question.shape.native_buffers());
}

/// Why calls that did not ask for it cannot go by it in turn.
std::string why_not_raced(const PlanOptions& options) {
  if (options.checksum) return "MPI's messages have no checksums";
  if (options.own_thread) return "MPI sums in the caller's thread";
  return {};
}

NativeSums* use_native(const PlanEnvironment& environment, const PlanOptions& options,
                       const NativeQuestion& question, RouteChoice& choice) {
  const bool bypass = question.kind.codec != "raw";
  const bool raced = choice.selection.algorithm->build != nullptr;
  if (options.native == NativeUse::always) {
    choice.selection = {&native_algorithm, bypass, "native=always"};
  } else if (raced) {
    const auto decided =
        environment.races->decided(question.kind, question.bytes, environment.transport->rank());
    const std::string reason(decided_by_file);
    if (decided == RouteDecisions::native) {
      choice.selection = {&native_algorithm, bypass, reason};
    } else if (decided) {
      if (const auto way = named_way(*decided))
        choice.selection = {way->algorithm, way->raw && bypass, reason};
      else
        choice.selection.reason += " (COHOM_DECISIONS: own)";
      return nullptr;
    }
  }
  return environment.native_sums;
}

}  // namespace

NativeSums* choose_native(const PlanEnvironment& environment, const PlanOptions& options,
                          const NativeQuestion& question, RouteChoice& choice) {
  const bool asked = choice.selection.algorithm->build == nullptr;
  const bool may = options.native != NativeUse::never && options.algorithm == "auto" &&
                   choice.network == nullptr && environment.transport->ranks() > 1;
  if (!asked && !may) return nullptr;
  std::string why_not = why_not_native(environment.native_sums, question);
  if (!asked && why_not.empty()) why_not = why_not_raced(options);
  if (why_not.empty()) return use_native(environment, options, question, choice);
  const std::string name(native_algorithm.name);
  if (asked)
    throw Error(ErrorKind::unsupported, "algorithm " + name + " is MPI's own reduction, and " +
                                            why_not + "; take another algorithm");
  if (options.native == NativeUse::always)
    log_once_for_all(environment.transport->rank(),
                     "native=always, but codec " + question.kind.codec + " goes by " +
                         std::string(choice.selection.algorithm->name) + ": " + why_not);
  return nullptr;
}

}  // namespace cohom
