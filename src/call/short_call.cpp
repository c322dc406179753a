#include "call/short_call.hpp"

#include "agreement/agreement_words.hpp"
#include "agreement/board_exchange.hpp"
#include "agreement/call_agreement.hpp"
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

bool may_be_short(const CallOwner& owner, const CallRequest& request) {
  PlanCore* const core = request.core.get();
  return request.blocks && core != nullptr && core->short_sum() != nullptr &&
         core->part() == nullptr && core->offloading() == nullptr &&
         core->native_reductions() == nullptr && request.state == nullptr &&
         request.added == nullptr && !request.error && !request.own_signature &&
         !core->calls.given_up && !core->has_own_thread() && owner.profile() == nullptr;
}

bool wait_for(BoardExchange& exchange, bool has_own_core) {
  for (int look = has_own_core ? -looks_on_own_core : 0; look < looks_that_yield; ++look) {
    exchange.poll();
    if (exchange.done()) return true;
    if (look >= 0) std::this_thread::yield();
  }
  return false;
}

}  // namespace

bool made_short(CallOwner& owner, const CallRequest& request, std::uint64_t number) noexcept try {
  CallBoard* const board = owner.board();
  if (board == nullptr || number % calls_a_look_beyond == 0 || !may_be_short(owner, request) ||
      owner.failures().of_transport() || !owner.nothing_else_moves())
    return false;
  const Transport& transport = owner.transport();
  transport.check_thread();
  PlanCore& core = *request.core;
  ShortSum& sum = *core.short_sum();
  sum.begin(request.input, request.output);
  AgreementWords words;
  words.begin(CallAgreement::words_of(transport.rank(), transport.ranks(), request.signature(),
                                      false, Offloads::no),
              CallPace(false, false, owner.races().seconds()), &sum);
  BoardExchange exchange(*board, number, words, transport.rank(), transport.ranks());
  exchange.begin();
  if (!wait_for(exchange, owner.has_own_core()) || words.sum() == nullptr ||
      !words.all_make_this_call())
    return false;
  exchange.end();
  if (core.description().bypass) owner.count_bypassed_call();
  return true;
} catch (...) {
  return false;  // the usual way meets it again
}

}  // namespace cohom
