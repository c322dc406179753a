#include "call/fallback_rounds_offer.hpp"

#include "base/failure.hpp"
#include "plan/plan_core.hpp"

namespace cohom {

std::optional<FallbackRoundsOffer> prepare_fallback_rounds(Executor& executor,
                                                           const std::string& codec) {
  FallbackRoundsOffer offer;
  offer.signature.text("call", "late rounds");
  offer.signature.differs_by(
      ErrorKind::transport,
      "elements of fallback rounds differ when words were changed on their way");
  try {
    executor.prepare_fallback_rounds(offer.signature);
  } catch (...) {
    offer.failure = current_failure("the fallback rounds of codec " + codec);
  }
  if (!executor.has_fallback_rounds()) return std::nullopt;
  return offer;
}

}  // namespace cohom
