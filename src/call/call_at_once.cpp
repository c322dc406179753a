#include "call/call_at_once.hpp"

#include "agreement/call_agreement.hpp"
#include "agreement/call_board.hpp"
#include "call/call_failures.hpp"
#include "call/call_owner.hpp"
#include "plan/route_races.hpp"

#include <thread>

namespace cohom {

namespace {

/// Looks at the board without yielding, where the rank has a core of its own, and then with. Who
/// has not come by then takes longer than what the usual way costs.
constexpr int looks_on_own_core = 100;
constexpr int looks_that_yield = 40;

/// Now and then a call goes the usual way, which makes progress for whatever else uses MPI.
constexpr std::uint64_t calls_a_look_beyond = 64;

}  // namespace

/// The sum is there, or MPI's to make. What goes wrong the usual way meets again.
bool CallAtOnce::agree() noexcept try {
  if (!is_such() || owner_.failures().of_transport() || !owner_.nothing_else_moves()) return false;
  const Transport& transport = owner_.transport();
  transport.check_thread();
  ShortSum* const sum = plan().short_sum();
  if (sum != nullptr)
    sum->begin(request_.input, request_.output);
  else if (!take_turn())
    return false;
  words_.begin(
      CallAgreement::words_of(transport.rank(), transport.ranks(), request_.signature(), false,
                              Offloads::no),
      CallPace(native_.has_value(), native_ && native_->is_in_place(), owner_.races().seconds()),
      sum);
  exchange_.emplace(*owner_.board(), number_, words_, transport.rank(), transport.ranks());
  exchange_->begin();
  if (!all_are_heard() || !words_.all_make_this_call()) return false;
  return native_ ? words_.pace().all_wait() : words_.sum() != nullptr;
} catch (...) {
  return false;
}

bool CallAtOnce::is_such() const {
  if (owner_.board() == nullptr || number_ % calls_a_look_beyond == 0 || !request_.blocks ||
      !request_.core || request_.error || request_.own_signature || request_.added != nullptr ||
      request_.state != nullptr || owner_.profile() != nullptr)
    return false;
  const bool waits_for_mpi = plan().native_sums() != nullptr && request_.timeout == 0;
  return (plan().short_sum() != nullptr || waits_for_mpi) && plan().part() == nullptr &&
         plan().device() == nullptr && plan().offloading() == nullptr &&
         plan().native_reductions() == nullptr && !plan().calls.given_up &&
         !plan().has_own_thread();
}

/// Whether MPI's reduction has it, as far as this rank knows.
bool CallAtOnce::take_turn() {
  const Transport& transport = owner_.transport();
  if (plan().has_routes()) {
    turn_.take(plan(), transport.rank());
    if (!turn_.has_race() || !turn_.may_go_natively()) return false;
  }
  native_.emplace(*plan().native_sums(), plan(), transport.rank(), transport.ranks());
  native_->prepare(request_.input, request_.output, false);
  turn_.start_clock();
  return true;
}

bool CallAtOnce::all_are_heard() {
  for (int look = owner_.has_own_core() ? -looks_on_own_core : 0; look < looks_that_yield; ++look) {
    exchange_->poll();
    if (exchange_->done()) return true;
    if (look >= 0) std::this_thread::yield();
  }
  return false;
}

void CallAtOnce::complete() {
  exchange_->end();
  if (native_)
    sum_natively();
  else if (plan().description().bypass)
    owner_.count_bypassed_call();
}

void CallAtOnce::sum_natively() try {
  turn_.agree(words_.pace(), owner_);
  owner_.count_native_call();
  native_->start(true, words_.pace().some_in_place());
  static_cast<void>(native_->test());  // it blocked, so it is over
  turn_.end(owner_);
} catch (...) {
  const Error error = owner_.failures().take("a call on this rank");
  owner_.failures().ended_with(error, true);
  throw Error(error);
}

}  // namespace cohom
