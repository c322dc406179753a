#include "call/call.hpp"

#include "agreement/begun_agreement.hpp"
#include "base/phase_timer.hpp"
#include "base/text.hpp"
#include "call/call_failures.hpp"
#include "call/call_owner.hpp"

#include <string>
#include <utility>

namespace cohom {

CallImpl::CallImpl(CallOwner& owner, std::uint64_t number, CallRequest request)
    : owner_(owner),
      resources_(owner, number, std::move(request)),
      stall_(resources_.request().timeout) {
  try {
    resources_.take();
    agree();
  } catch (...) {
    complete(owner_.failures().take("a call on this rank"));
  }
}

void CallImpl::agree() {
  CallRequest& request = resources_.request();
  own_error_ = request.error;
  if (request.begun) {
    agreement_ = &request.begun->agreement;
    return;
  }
  const Transport& transport = owner_.transport();
  agreement_ = &own_agreement_.emplace(*resources_.channel(), transport.rank(), transport.ranks(),
                                       request.signature(), std::move(request.error));
  CallBoard* const board = owner_.board();
  // Its words have told the others that it makes the call.
  if (own_error_ && board != nullptr && board->has_posted(resources_.number()))
    throw Error(*own_error_);
  if (owner_.failures().of_transport()) return tell_error();
  agreement_->begin({.offloads = resources_.route().word(),
                     .sum = resources_.short_sum(),
                     .pace = CallPace(resources_.waits() && resources_.may_sum_natively(),
                                      resources_.is_in_place(), owner_.races().seconds()),
                     .board = board,
                     .number = resources_.number()});
}

/// They have been told that this rank makes the call. Not thrown before there is a call, which may
/// have to be kept.
void CallImpl::throw_what_others_do_not_learn() {
  const std::shared_ptr<BegunAgreement>& begun = resources_.request().begun;
  if (!begun) return;
  if (begun->failure) std::rethrow_exception(begun->failure);
  if (own_error_) throw Error(*own_error_);
}

/// Others may wait for this rank in a call that it left, and never come to this one.
void CallImpl::tell_error() {
  agreement_->tell_error(owner_.board(), resources_.number());
  complete(agreement_->error());
}

bool CallImpl::advance(bool earlier_moved) noexcept {
  if (done()) return false;
  try {
    const bool moved = step();
    if (moved || earlier_moved || waits_for_users_stream())
      stall_.moved();  // what that does takes as long as it takes
    else if (stall_.idle())
      throw stalled();
    return moved;
  } catch (...) {
    complete(owner_.failures().take("a call on this rank"));
  }
  return true;
}

Error CallImpl::stalled() const {
  std::string text = "no progress for " + seconds_text(resources_.request().timeout) +
                     " s, the timeout: waits for " + waits_for();
  if (own_error_ && agreeing())
    text += "; the error of this rank, of which not all could be told: " +
            std::string(own_error_->what());
  return {ErrorKind::transport, text};
}

/// A call that leaves waits for its own messages alone, wherever the stream is.
bool CallImpl::waits_for_users_stream() const {
  return state_ != State::leaving && resources_.device() && resources_.device()->waits_for_stream();
}

/// For the error of a call that makes no progress.
std::string CallImpl::waits_for() const {
  switch (state_) {
    case State::leaving: return "messages that it sent to leave";
    case State::agreeing:
      if (!agreement_->done()) return agreement_->waits_for();
      if (waits_for_device_) return "the device, which still has to do with the words of the plan";
      if (resources_.goes_natively())
        return "an earlier call, which comes before it at MPI's own reduction";
      if (resources_.request().core->native_reductions() != nullptr)
        return "all ranks to use fabric for the first time";
      return "an earlier call, which comes before it at the aggregator";
    case State::agreeing_fallback:
      if (!agreement_->done()) return agreement_->waits_for() + " (fallback rounds)";
      [[fallthrough]];
    default:
      return resources_.goes_natively() ? "all ranks, in MPI's own reduction"
                                        : executor()->waits_for();
  }
}

bool CallImpl::step() {
  const DeviceWork::Use use(resources_.device_work());
  if (state_ == State::leaving) return try_to_complete();
  throw_what_others_do_not_learn();
  bool moved = poll();
  // Asked even where a call with state has not begun: no timeout runs before the stream has come.
  const bool may_work = !resources_.device() || resources_.device()->may_work();
  if (state_ == State::agreeing && agreement_->done()) {
    if (!leave_agreement()) return moved;
    moved = true;
  }
  if (state_ == State::running && resources_.goes_natively()) {
    if (!resources_.native()->test()) return moved;
    leave(std::nullopt);
    return true;
  }
  if (state_ == State::leaving || state_ == State::done || !resources_.begun() || !may_work)
    return moved;
  return advance_rounds() || moved;
}

/// All ranks know whether they make the call. Whether it could go on.
bool CallImpl::leave_agreement() {
  if (agreement_->error()) {
    leave(agreement_->error());
    return true;
  }
  resources_.turn().agree(agreement_->pace(), owner_);
  if (!resources_.request().core)
    leave(std::nullopt);
  else if (agreement_->has_sum())
    complete_short();
  else if (resources_.goes_natively())
    return start_native();
  else
    return release();
  return true;
}

/// The sum came with the agreement.
void CallImpl::complete_short() {
  if (resources_.request().state != nullptr) {
    resources_.take_state();
    ++resources_.request().state->step;
  }
  resources_.write_hosts_output();
  leave(std::nullopt);
}

/// Even before the call is open: to encode takes no other rank.
bool CallImpl::advance_rounds() {
  Executor& rounds = *executor();
  resources_.take_input();
  bool moved = rounds.advance();
  if (state_ == State::running && rounds.fallback_rounds_due()) {
    agree_on_fallback_rounds();
    moved = true;
  }
  if (state_ == State::agreeing_fallback && agreement_->done()) {
    leave_fallback_agreement();
    moved = true;
  }
  if (state_ == State::running && rounds.done() && resources_.write_output(!error_))
    complete_rounds();
  return moved;
}

void CallImpl::agree_on_fallback_rounds() {
  const PlanCore& plan = *resources_.request().core;
  auto offer = executor()->offer_fallback_rounds(
      resources_.route().is_third() ? plan.description().third_codec : plan.description().codec);
  if (!offer) return;
  const Transport& transport = owner_.transport();
  agreement_ = &own_agreement_.emplace(*resources_.channel(), transport.rank(), transport.ranks(),
                                       fallback_signature_.emplace(std::move(offer->signature)),
                                       std::move(offer->failure));
  agreement_->begin();
  state_ = State::agreeing_fallback;
}

void CallImpl::leave_fallback_agreement() {
  // An error waits for what is under way, so that no message is left behind.
  error_ = agreement_->error();
  if (error_)
    executor()->skip_fallback_rounds();
  else
    executor()->start_fallback_rounds();
  state_ = State::running;
}

void CallImpl::complete_rounds() {
  if (resources_.request().state != nullptr) ++resources_.request().state->step;
  resources_.route().complete();
  leave(std::move(error_));
}

/// The result is known, but other ranks may still miss what this one sent.
void CallImpl::leave(std::optional<Error> error) {
  error_ = std::move(error);
  const std::shared_ptr<PlanCore>& core = resources_.request().core;
  if (!error_ && core && !resources_.goes_natively())
    owner_.count_call(*core, resources_.route().is_third());
  state_ = State::leaving;
  try_to_complete();
}

bool CallImpl::try_to_complete() {
  if (!resources_.channel()->flushed()) return false;
  complete(std::move(error_));
  return true;
}

/// Whether it could: MPI wants its reductions in one order on all ranks. Where it is to block,
/// nobody may wait for a message of this rank.
bool CallImpl::start_native() {
  const bool block = agreement_->pace().all_wait();
  if (!owner_.has_turn(resources_.number()) || (block && !resources_.channel()->flushed()))
    return false;
  owner_.count_native_call();
  resources_.native()->start(block, agreement_->pace().some_in_place());
  state_ = State::running;
  return true;
}

/// Whether it could: an aggregator in the network wants calls in one order on all ranks, and a
/// device may still have to do with the words of the call before.
bool CallImpl::release() {
  waits_for_device_ = resources_.device() && !resources_.device()->may_receive();
  if (waits_for_device_) return false;
  // A rank that was ready to offload, or for the third way, may have begun so; what it encoded then
  // is encoded again.
  Executor* const prepared = executor();
  const bool third = resources_.route().is_third();
  if (resources_.route().agree(agreement_->unready_rank(), owner_.transport().rank(),
                               resources_.turn().in_race())) {
    if (!third)
      prepared->stop();  // of the aggregator it is not done
    else if (prepared != nullptr)
      prepared->end();
    resources_.begin_anew();
  }
  if (resources_.route().offloads() && !owner_.has_turn(resources_.number())) return false;
  if (!resources_.route().begin()) return false;
  if (!resources_.begun()) resources_.begin();
  executor()->release();
  state_ = State::running;
  return true;
}

bool CallImpl::poll() {
  const std::span<Completion> done = owner_.completions();
  end_phase(owner_.profile(), Phase::other);
  const std::size_t count = resources_.channel()->poll(done);
  const bool heard = agreement_->poll();
  end_phase(owner_.profile(), count != 0 || heard ? Phase::wire : Phase::wait);
  for (std::size_t i = 0; i < count; ++i) {
    if (CallAgreement::owns(done[i].cookie))
      agreement_->complete(done[i]);
    else
      executor()->complete(done[i]);
  }
  return count != 0 || heard;
}

void CallImpl::complete(std::optional<Error> error) {
  error_ = std::move(error);
  // A call that ends early may have workers that still use its buffers.
  resources_.stop_workers();
  if (!error_) resources_.turn().end(owner_);
  // Where all ranks have been heard of, the board has ended it before.
  if (CallBoard* const board = owner_.board(); error_ && board != nullptr)
    board->end(resources_.number(), true);
  using End = CallResources::End;
  const bool owed = agreement_ != nullptr && agreement_->is_owed_sections();
  const End early = owed ? End::owed : End::early;
  resources_.end(error_, state_ == State::leaving ? End::alike : early, weak_from_this());
  state_.store(State::done, std::memory_order_release);
}

}  // namespace cohom
