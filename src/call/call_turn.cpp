#include "call/call_turn.hpp"

#include "call/call_owner.hpp"

namespace cohom {

/// A rank that gets nothing of a reduce may be done as soon as its vector has left. So there the
/// root's time counts, from when all ranks have come.
void CallTurn::take(const PlanCore& plan, int rank) {
  race_ = plan.race();
  if (race_ == nullptr) return;
  turn_ = race_->race.next();
  from_agreement_ = plan.shape().collective == ReductionKind::reduce;
  tells_time_ = plan.shape().gives_to(rank);
}

void CallTurn::start_clock(std::optional<Time> began) {
  began_ = began ? *began : std::chrono::steady_clock::now();
}

void CallTurn::agree(const CallPace& pace, CallOwner& owner) {
  if (agreed_) return;
  agreed_ = true;
  if (!pace.all_wait()) return;
  owner.races().agree(pace.seconds(), owner.transport().rank());
  if (!turn_) return;
  race_->race.began(*turn_);
  if (from_agreement_) start_clock();
  in_race_ = true;
}

void CallTurn::end(CallOwner& owner) {
  if (!in_race_) return;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
  owner.races().ended(*race_, *turn_, tells_time_ ? std::optional(took.count()) : std::nullopt);
}

}  // namespace cohom
