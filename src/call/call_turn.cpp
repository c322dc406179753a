#include "call/call_turn.hpp"

#include "call/call_owner.hpp"

namespace cohom {

void CallTurn::take(const PlanCore& plan) {
  race_ = plan.race();
  if (race_ == nullptr) return;
  turn_ = race_->race.next();
  made_ = std::chrono::steady_clock::now();
}

void CallTurn::agree(const CallPace& pace, CallOwner& owner) {
  if (agreed_) return;
  agreed_ = true;
  if (!pace.all_wait()) return;
  owner.races().agree(pace.seconds(), owner.transport().rank());
  if (!turn_) return;
  race_->race.began(*turn_);
  in_race_ = true;
}

void CallTurn::end(CallOwner& owner) {
  if (!in_race_) return;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - made_;
  owner.races().ended(*race_, *turn_, took.count());
}

}  // namespace cohom
