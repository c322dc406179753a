#include "call/call.hpp"

#include "base/phase_timer.hpp"
#include "base/text.hpp"
#include "call/call_failures.hpp"
#include "call/call_owner.hpp"

#include <new>
#include <string>
#include <utility>

namespace cohom {

CallImpl::CallImpl(CallOwner& owner, std::uint64_t number, CallRequest request)
    : owner_(owner),
      number_(number),
      request_(std::move(request)),
      route_(number),
      stall_(request_.timeout) {
  try {
    request_.drop_given_up_plan(owner_.failures());
    open_channel();
    prepare();
    own_error_ = request_.error;
    const Transport& transport = owner_.transport();
    agreement_.emplace(*channel_, transport.rank(), transport.ranks(), request_.signature(),
                       std::move(request_.error), route_.word(),
                       request_.core ? request_.core->short_sum() : nullptr,
                       CallPace(waits_, owner_.races().seconds()));
    if (owner_.failures().of_transport())
      tell_error();
    else
      agreement_->begin();
  } catch (...) {
    complete(owner_.failures().take("a call on this rank"));
  }
}

void CallImpl::open_channel() {
  Transport& transport = owner_.transport();
  const auto number = static_cast<std::uint32_t>(number_ % transport.channels());
  try {
    channel_ = transport.open(number);
    if (request_.core) channel_ = request_.core->wrap(std::move(channel_));
  } catch (const std::bad_alloc&) {
    // To tell the others it takes little.
    if (!request_.error) request_.error = Error(ErrorKind::memory, "out of memory for a channel");
    channel_ = nullptr;
    channel_ = transport.open(number);
  }
}

/// All that can fail on this rank alone comes before the agreement, so that all ranks learn of it.
void CallImpl::prepare() {
  if (!request_.error) request_.error = owner_.failures().of_transport();
  // Before there is another call in flight: this one.
  waits_ = request_.blocks && request_.timeout == 0 && owner_.nothing_else_moves();
  if (!request_.core) return;
  PlanCore& core = *request_.core;
  core.in_flight = true;
  route_.of_plan(core);
  try {
    if (core.device() != nullptr) begin_on_device();
    if (NativeAllreduce* const native = core.native_allreduce()) {
      native_.emplace(*native, core);
      const bool may_give_up = request_.timeout != 0 && !core.has_executor();
      if (!request_.error) native_->prepare(request_.input, request_.output, may_give_up);
      if (!core.has_executor()) return;
    }
    if (core.race() != nullptr) {
      turn_ = core.race()->race.next();
      made_ = std::chrono::steady_clock::now();
    }
    route_.prepare(request_.error.has_value());
    if (request_.error) return;
    ShortSum* const sum = core.short_sum();
    if (sum != nullptr) sum->begin(request_.input, request_.output);
    if (request_.state != nullptr) {
      request_.state->bring_to(core.device_work(), core.state_bytes());
      request_.state->key.reserve(core.state_key().size());  // it is written when all agree
    } else if (owner_.transport().ranks() > 1 && sum == nullptr && !may_go_natively()) {
      // What a codec remembers must not change before all ranks agree; without state, encoding can
      // hide the time the agreement takes.
      begin();
    }
  } catch (...) {
    if (!request_.error) request_.error = owner_.failures().take("the start of a call");
  }
}

void CallImpl::begin_on_device() {
  PlanCore& core = *request_.core;
  const DeviceWork::Use use(core.device()->work().get());
  if (!request_.error) request_.error = owner_.failures().of_device();
  if (request_.error) return;
  device_.emplace(*core.device(), request_.input, request_.output,
                  core.count() * size_of(core.type()), request_.stream);
  device_->begin();
}

/// Others may wait for this rank in a call that it left, and never come to this one.
void CallImpl::tell_error() {
  agreement_->tell_error();
  complete(agreement_->error());
}

/// Of a call with buffers on a device, whoever does its work.
DeviceWork* CallImpl::device_work() const {
  return request_.core && request_.core->device() ? request_.core->device()->work().get() : nullptr;
}

CallImpl::~CallImpl() {
  // A call that is done gave the plan back; by now it may be in flight for another one.
  if (done()) return;
  channel_.reset();
  give_back_plan();
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
  std::string text = "no progress for " + seconds_text(request_.timeout) +
                     " s, the timeout: waits for " + waits_for();
  if (own_error_ && agreeing())
    text += "; the error of this rank, of which not all could be told: " +
            std::string(own_error_->what());
  return {ErrorKind::transport, text};
}

/// A call that leaves waits for its own messages alone, wherever the stream is.
bool CallImpl::waits_for_users_stream() const {
  return state_ != State::leaving && device_ && device_->waits_for_stream();
}

/// For the error of a call that makes no progress.
std::string CallImpl::waits_for() const {
  switch (state_) {
    case State::leaving: return "messages that it sent to leave";
    case State::agreeing:
      if (!agreement_->done()) return agreement_->waits_for();
      if (waits_for_device_) return "the device, which still has to do with the words of the plan";
      if (goes_natively()) return "an earlier call, which comes before it at MPI's own allreduce";
      if (request_.core->native_reductions() != nullptr)
        return "all ranks to use fabric for the first time";
      return "an earlier call, which comes before it at the aggregator";
    case State::agreeing_fallback:
      if (!agreement_->done()) return agreement_->waits_for() + " (fallback rounds)";
      [[fallthrough]];
    default:
      return goes_natively() ? "all ranks, in MPI's own allreduce" : route_.executor()->waits_for();
  }
}

bool CallImpl::step() {
  const DeviceWork::Use use(device_work());
  if (state_ == State::leaving) return try_to_complete();
  bool moved = poll();
  // Asked even where a call with state has not begun: no timeout runs before the stream has come.
  const bool may_work = !device_ || device_->may_work();
  if (state_ == State::agreeing && agreement_->done()) {
    if (!leave_agreement()) return moved;
    moved = true;
  }
  if (state_ == State::running && goes_natively()) {
    if (!native_->test()) return moved;
    leave(std::nullopt);
    return true;
  }
  if (state_ == State::leaving || state_ == State::done || !begun_ || !may_work) return moved;
  return advance_rounds() || moved;
}

/// Unless some rank has other things to do until the call is over.
bool CallImpl::may_go_natively() const {
  return native_ && (!turn_ || turn_->way == RouteRace::Way::native);
}

/// Once all ranks have agreed: they decide alike.
bool CallImpl::goes_natively() const {
  return may_go_natively() && (!request_.core->has_executor() || in_race_);
}

/// All ranks know whether they make the call. Whether it could go on.
bool CallImpl::leave_agreement() {
  if (agreement_->error()) {
    leave(agreement_->error());
    return true;
  }
  if (!told_time_) take_turn();
  if (!request_.core)
    leave(std::nullopt);
  else if (agreement_->has_sum())
    complete_short();
  else if (goes_natively())
    return start_native();
  else
    return release();
  return true;
}

/// Once a call: what all ranks know alike of earlier calls counts from here on, where they all wait
/// for this one, so that none has made the next one.
void CallImpl::take_turn() {
  told_time_ = true;
  if (!agreement_->pace().all_wait()) return;
  owner_.races().agree(agreement_->pace().seconds(), owner_.transport().rank());
  if (!turn_) return;
  request_.core->race()->race.began(*turn_);
  in_race_ = true;
}

/// The sum came with the agreement.
void CallImpl::complete_short() {
  if (request_.state != nullptr) {
    take_state();
    ++request_.state->step;
  }
  leave(std::nullopt);
}

/// Even before the call is open: to encode takes no other rank.
bool CallImpl::advance_rounds() {
  Executor& executor = *route_.executor();
  bool moved = executor.advance();
  if (state_ == State::running && executor.fallback_rounds_due()) {
    agree_on_fallback_rounds();
    moved = true;
  }
  if (state_ == State::agreeing_fallback && agreement_->done()) {
    leave_fallback_agreement();
    moved = true;
  }
  if (state_ == State::running && executor.done() && (!device_ || device_->complete()))
    complete_rounds();
  return moved;
}

void CallImpl::agree_on_fallback_rounds() {
  auto offer = route_.executor()->offer_fallback_rounds(request_.core->description().codec);
  if (!offer) return;
  agreement_.emplace(*channel_, owner_.transport().rank(), owner_.transport().ranks(),
                     fallback_signature_.emplace(std::move(offer->signature)),
                     std::move(offer->failure));
  agreement_->begin();
  state_ = State::agreeing_fallback;
}

void CallImpl::leave_fallback_agreement() {
  // An error waits for what is under way, so that no message is left behind.
  error_ = agreement_->error();
  if (error_)
    route_.executor()->skip_fallback_rounds();
  else
    route_.executor()->start_fallback_rounds();
  state_ = State::running;
}

void CallImpl::complete_rounds() {
  if (request_.state != nullptr) ++request_.state->step;
  route_.complete();
  leave(std::move(error_));
}

/// The result is known, but other ranks may still miss what this one sent.
void CallImpl::leave(std::optional<Error> error) {
  error_ = std::move(error);
  state_ = State::leaving;
  try_to_complete();
}

bool CallImpl::try_to_complete() {
  if (!channel_->flushed()) return false;
  complete(std::move(error_));
  return true;
}

/// Whether it could: MPI wants its allreduces in one order on all ranks. Where it is to block,
/// nobody may wait for a message of this rank.
bool CallImpl::start_native() {
  const bool block = agreement_->pace().all_wait();
  if (!owner_.has_turn(number_) || (block && !channel_->flushed())) return false;
  owner_.count_native_call();
  native_->start(block);
  state_ = State::running;
  return true;
}

/// Whether it could: an aggregator in the network wants calls in one order on all ranks, and a
/// device may still have to do with the words of the call before.
bool CallImpl::release() {
  waits_for_device_ = device_ && !device_->may_receive();
  if (waits_for_device_) return false;
  // A rank that was ready to offload may have begun so; what it encoded then is encoded again.
  Executor& first = *route_.executor();
  if (route_.agree(agreement_->unready_rank(), owner_.transport().rank())) {
    first.stop();
    begun_ = false;
  }
  if (route_.offloads() && !owner_.has_turn(number_)) return false;
  if (!route_.begin()) return false;
  if (!begun_) begin();
  route_.executor()->release();
  state_ = State::running;
  return true;
}

bool CallImpl::poll() {
  const std::span<Completion> done = owner_.completions();
  end_phase(owner_.profile(), Phase::other);
  const std::size_t count = channel_->poll(done);
  end_phase(owner_.profile(), count != 0 ? Phase::wire : Phase::wait);
  for (std::size_t i = 0; i < count; ++i) {
    if (CallAgreement::owns(done[i].cookie))
      agreement_->complete(done[i]);
    else
      route_.executor()->complete(done[i]);
  }
  return count != 0;
}

void CallImpl::begin() {
  const DeviceWork::Use use(device_work());
  CallBuffers buffers{.type = request_.core->type(),
                      .input = device_ ? device_->input() : request_.input,
                      .output = device_ ? device_->output() : request_.output,
                      .step = request_.step,
                      .added = request_.added.get()};
  if (request_.state != nullptr) buffers.state = take_state();
  route_.executor()->begin(buffers, *channel_, owner_.profile(), request_.timeout != 0);
  begun_ = true;
}

/// Of the codec, from now on.
std::span<std::byte> CallImpl::take_state() {
  request_.state->key = request_.core->state_key();
  return request_.state->bring_to(request_.core->device_work(), request_.core->state_bytes());
}

void CallImpl::complete(std::optional<Error> error) {
  error_ = std::move(error);
  // A call that ends early may have workers that still use its buffers.
  if (route_.executor() != nullptr) route_.executor()->stop();
  if (!error_ && in_race_) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - made_;
    owner_.races().ended(*request_.core->race(), *turn_, took.count());
  }
  // Half-updated feedback would count a gradient twice.
  if (error_ && begun_ && request_.state != nullptr) *request_.state = {};
  const bool early = error_ && state_ != State::leaving;  // else all ranks end alike
  const bool goes = early && goes_on();
  const bool kept = goes && keep();
  const bool leaves = early && channel_ != nullptr && request_.timeout == 0;
  // Others may go on with this call, and their messages must not meet another communicator.
  if (early && channel_ != nullptr && !channel_->ends_at_once()) owner_.failures().keep_transport();
  if (!kept) {
    channel_.reset();
    native_.reset();
  }
  if (error_) owner_.failures().ended_with(*error_, goes || leaves);
  // Nothing that this call put into streams may meet the next one's words.
  if (error_ && device_) request_.core->device()->drain();
  if (kept)
    device_.reset();
  else
    give_back_plan();
  request_.added.reset();  // all that was to be encoded is
  state_.store(State::done, std::memory_order_release);
}

bool CallImpl::goes_on() noexcept {
  bool over = channel_ == nullptr || channel_->give_up();
  if (route_.executor() != nullptr) over &= route_.executor()->offloaded().give_up();
  if (native_) over &= native_->give_up();
  return !over;
}

/// What goes on needs its memory until the process ends, for all that anybody can know. False: that
/// cannot be had, and the end of the call waits for other ranks.
bool CallImpl::keep() noexcept {
  if (route_.executor() != nullptr && route_.executor()->uses_users_memory()) return false;
  if (native_ && native_->uses_users_memory()) return false;
  const std::shared_ptr<CallImpl> self = weak_from_this().lock();
  if (!self || !owner_.failures().keep(self)) return false;
  if (!request_.core) return true;
  request_.core->in_flight = false;
  request_.core->given_up = true;
  return true;
}

void CallImpl::give_back_plan() {
  if (!request_.core) return;
  device_.reset();  // it gives back what is the plan's
  if (route_.executor() != nullptr) route_.executor()->end();
  request_.core->in_flight = false;
  request_.core.reset();  // a request may be kept for long
}

}  // namespace cohom
