#include "call/late_rounds_offer.hpp"

#include "base/failure.hpp"
#include "plan/plan_core.hpp"

namespace cohom {

std::optional<LateRoundsOffer> prepare_late_rounds(Executor& executor, const std::string& codec) {
  LateRoundsOffer late;
  late.signature.text("call", "late rounds");
  late.signature.differs_by(ErrorKind::transport,
                            "elements of late rounds differ when words were changed on their way");
  try {
    executor.prepare_late_rounds(late.signature);
  } catch (...) {
    late.failure = current_failure("the late rounds of codec " + codec);
  }
  if (!executor.has_late_rounds()) return std::nullopt;
  return late;
}

}  // namespace cohom
