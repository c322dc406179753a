#pragma once
// What all ranks agree on in the middle of a call: how many elements its fallback rounds have.
//
// Fallback rounds follow from words that ranks received. No rank may decide about them by its own
// words alone: where these differ, one would wait for ever for a round that the others do without.
// Their memory is, besides, the one thing that a rank may lack after the call's agreement.

#include "agreement/call_signature.hpp"

#include <cohom/error.hpp>

#include <optional>
#include <string>

namespace cohom {

class Executor;

/// What a rank brings to that agreement.
struct FallbackRoundsOffer {
  CallSignature signature;
  std::optional<Error> failure;  ///< this rank has no memory for them
};

/// None: the codec has no fallback rounds, so nothing has to be agreed on.
std::optional<FallbackRoundsOffer> prepare_fallback_rounds(Executor& executor,
                                                           const std::string& codec);

}  // namespace cohom
