#include "call/call_route.hpp"

#include "plan/offloading.hpp"

namespace cohom {

void CallRoute::of_plan(PlanCore& plan) {
  plan_ = &plan;
  taken_ = &plan.routes().first;
}

bool CallRoute::take_third() {
  if (plan_->third_sum() == nullptr) plan_->routes().take_memory();
  if (!plan_->routes().take_memory_of_third()) return false;
  taken_ = &plan_->routes().third;
  return true;
}

void CallRoute::take_memory() {
  if (!is_third()) plan_->routes().take_memory();
}

void CallRoute::prepare(bool fails) {
  if (Aggregator* const native = plan_->native_reductions()) {
    executor()->offloaded().reserve(call_);
    if (!fails) native->start_preparing();
  }
  if (network() == nullptr) return;
  if (!fails) offloads_ = network()->ready(executor()->offloaded(), call_);
  if (!offloads_) taken_ = &plan_->routes().other;
}

Offloads CallRoute::word() const {
  if (offloads_) return Offloads::yes;
  const bool waits = network() != nullptr && network()->waits_for_others();
  return waits ? Offloads::waits_for_others : Offloads::no;
}

bool CallRoute::agree(std::optional<int> unready_rank, int own_rank, bool in_race) {
  // Where the third way is a sum that travels, there is no route to go that way without it.
  if (is_third() && (!in_race || plan_->third_sum() != nullptr)) {
    taken_ = &plan_->routes().first;
    return true;
  }
  if (network() == nullptr || !unready_rank) return false;
  const bool changes = offloads_;
  offloads_ = false;
  taken_ = &plan_->routes().other;
  network()->declined(*unready_rank == own_rank, *unready_rank,
                      plan_->description().other_algorithm);
  return changes;
}

bool CallRoute::begin() {
  if (plan_->native_reductions() != nullptr) return plan_->native_reductions()->prepare();
  if (offloads_) executor()->offloaded().reserve(call_);
  return true;
}

void CallRoute::complete() {
  if (offloads_) network()->complete(executor()->offloaded(), call_);
}

}  // namespace cohom
