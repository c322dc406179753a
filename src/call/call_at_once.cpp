#include "call/call_at_once.hpp"

#include "agreement/call_agreement.hpp"
#include "agreement/call_board.hpp"
#include "base/free_list.hpp"
#include "call/board_looks.hpp"
#include "call/call_failures.hpp"
#include "call/call_owner.hpp"
#include "plan/route_races.hpp"

#include <chrono>
#include <exception>
#include <span>
#include <thread>
#include <utility>

namespace cohom {

namespace {

/// Looks that yield. Who has not come by then takes longer than what the usual way costs.
constexpr int yields_at_board = 40, yields_for_messages = 400;  // a link takes longer
constexpr int looks_for_messages = 20;  // on a core of its own: each of them asks the system
constexpr std::chrono::milliseconds patience{1};  // of who yields to ranks that are busy

/// Now and then a call goes the usual way, which makes progress for whatever else uses MPI.
constexpr std::uint64_t calls_a_look_beyond = 64;

/// How many looks, which do not yield, were in vain before one saw what it looks for; `most`: all.
template <class Look>
int looks_in_vain(int most, Look&& look) {
  int looks = 0;
  while (looks < most && !look()) ++looks;
  return looks;
}

/// Whether a look saw it in time, with yields between them.
template <class Look>
bool sees_soon(int looks, Look&& look) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point began;
  for (int i = 0; i < looks; ++i) {
    if (look()) return true;
    const Clock::time_point now = Clock::now();
    if (i == 0) began = now;
    if (now - began > patience) return false;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

/// The sum is there, or MPI's to make. What goes wrong the usual way meets again.
bool CallAtOnce::agree() noexcept try {
  if (!is_such() || owner_.failures().of_transport() || !owner_.nothing_else_moves()) return false;
  if (!take_turn()) return false;
  if (sum_ != nullptr) sum_->begin(request_.input, request_.output);
  const CallPace pace(waits_, native_ && native_->is_in_place(), owner_.races().seconds());
  return owner_.board() != nullptr ? agree_by_board(pace) : agree_by_messages(pace);
} catch (...) {
  return false;
}

bool CallAtOnce::agree_by_board(const CallPace& pace) {
  const Transport& transport = owner_.transport();
  words_.begin(CallAgreement::words_of(transport.rank(), transport.ranks(), request_.signature(),
                                       false, Offloads::no),
               pace, sum_);
  exchange_.emplace(*owner_.board(), number_, words_, transport.rank(), transport.ranks());
  exchange_->begin();
  const auto all_are_heard = [this] {
    exchange_->poll();
    return exchange_->done();
  };
  bool heard = false;
  if (owner_.has_own_core()) {
    BoardLooks& own = owner_.board_looks();
    const int most = own.most(), looks = looks_in_vain(most, all_are_heard);
    own.ended(looks);
    heard = looks < most;
  }
  heard = heard || sees_soon(yields_at_board, all_are_heard);
  if (!heard || !words_.all_make_this_call()) return false;
  pace_ = words_.pace();
  return native_ ? pace_.all_wait() : words_.sum() != nullptr;
}

/// False: the usual way goes on with the agreement, even if it failed.
bool CallAtOnce::agree_by_messages(const CallPace& pace) {
  Transport& transport = owner_.transport();
  begun_ = std::allocate_shared<BegunAgreement>(
      RecyclingAllocator<BegunAgreement>(),
      plan().wrap(transport.open(static_cast<std::uint32_t>(number_ % transport.channels()))),
      transport, request_.signature());
  try {
    CallAgreement& agreement = begun_->agreement;
    agreement.begin({.sum = sum_, .pace = pace});
    const auto told = [this] { return all_are_told(); };
    const int looks = owner_.has_own_core() ? looks_for_messages : 0;
    const bool is_told = looks_in_vain(looks, told) < looks || sees_soon(yields_for_messages, told);
    if (!is_told || agreement.error()) return false;
    pace_ = agreement.pace();
    return native_ ? pace_.all_wait() : agreement.has_sum();
  } catch (...) {
    begun_->failure = std::current_exception();
    return false;
  }
}

/// This rank by all others, too, and what it sent has left.
bool CallAtOnce::all_are_told() {
  const std::span<Completion> done = owner_.completions();
  const std::size_t count = begun_->channel->poll(done);
  for (const Completion& one : done.first(count)) begun_->agreement.complete(one);
  return begun_->agreement.done() && begun_->channel->flushed();
}

void CallAtOnce::hand_over(CallRequest& request) {
  const bool has_told = exchange_ || begun_;
  request.told_that_it_waits = waits_ && has_told;
  if (waits_ && has_told) request.turn_began = turn_.began();
  request.begun = std::move(begun_);
}

bool CallAtOnce::is_such() const {
  if (owner_.transport().ranks() == 1 || !request_.blocks || !request_.core || request_.error ||
      request_.own_signature || request_.added != nullptr || request_.state != nullptr ||
      owner_.profile() != nullptr)
    return false;
  if (owner_.board() != nullptr && number_ % calls_a_look_beyond == 0) return false;
  const bool waits_for_mpi = plan().native_sums() != nullptr && request_.timeout == 0;
  return (plan().short_sum() != nullptr || waits_for_mpi) && plan().part() == nullptr &&
         plan().device() == nullptr && plan().offloading() == nullptr &&
         plan().native_reductions() == nullptr && !plan().calls.given_up &&
         !plan().has_own_thread();
}

/// Whether the vector travels with the words, or MPI's reduction has it, as far as this rank knows.
bool CallAtOnce::take_turn() {
  const bool races = plan().race() != nullptr;
  if (!races && plan().short_sum() != nullptr) return start_turn(plan().short_sum());
  waits_ = request_.timeout == 0;
  const Transport& transport = owner_.transport();
  if (plan().has_routes()) {
    turn_.take(plan(), transport.rank());
    if (!races) return false;
    if (waits_ && turn_.goes_third_way()) return start_turn(plan().third_sum());
    if (!waits_ || !turn_.may_go_natively()) return start_turn(plan().short_sum());
  }
  if (!waits_) return false;
  native_.emplace(*plan().native_sums(), plan(), transport.rank(), transport.ranks());
  native_->prepare(request_.input, request_.output, false);
  turn_.start_clock();
  return true;
}

/// Of a way by which that sum travels, if there is one: else the call is made in the usual way.
bool CallAtOnce::start_turn(ShortSum* sum) {
  if (sum == nullptr) return false;
  plan().routes().take_memory_of(*sum);
  sum_ = sum;
  turn_.start_clock();
  return true;
}

void CallAtOnce::complete() try {
  if (exchange_) exchange_->end();
  begun_.reset();
  turn_.agree(pace_, owner_);
  if (native_)
    sum_natively();
  else
    owner_.count_call(plan(), sum_ == plan().third_sum());
  turn_.end(owner_);
} catch (...) {
  const Error error = owner_.failures().take("a call on this rank");
  owner_.failures().ended_with(error, true);
  throw Error(error);
}

void CallAtOnce::sum_natively() {
  owner_.count_native_call();
  native_->start(true, pace_.some_in_place());
  static_cast<void>(native_->test());  // it blocked, so it is over
}

}  // namespace cohom
