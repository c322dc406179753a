#include "call/call.hpp"

#include "base/failure.hpp"
#include "base/lap.hpp"
#include "call/communicator_impl.hpp"
#include "call/thread_progress.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace cohom {

namespace {

/// What a rank does that waits for others: yield for a while, because more ranks than cores is the
/// normal case; then sleep, which saves a third of the processor time and costs little latency.
class Backoff {
 public:
  void moved() { idle_ = 0; }
  void wait() {
    if (++idle_ < 2000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(30));
  }

 private:
  int idle_ = 0;
};

/// As a user writes them: 0.5, not 0.500000.
std::string seconds_text(double seconds) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), seconds).ptr;
  return {text.data(), end};
}

}  // namespace

CallImpl::CallImpl(CommunicatorImpl& communicator, std::uint64_t number, CallRequest request)
    : communicator_(communicator),
      number_(number),
      request_(std::move(request)),
      stall_(request_.timeout) {
  try {
    Transport& transport = communicator_.transport();
    leave_given_up_plan();
    open_channel(transport);
    prepare();
    own_error_ = request_.error;
    agreement_.emplace(*channel_, transport.rank(), transport.ranks(),
                       std::move(request_.signature), std::move(request_.error), own_word());
  } catch (...) {
    finish(communicator_.take_failure("a call on this rank"));
  }
}

void CallImpl::leave_given_up_plan() {
  if (!request_.core || !request_.core->given_up) return;
  if (!request_.error) request_.error = communicator_.transport_failure();
  if (!request_.error)
    request_.error = Error(ErrorKind::transport,
                           "an earlier call of this plan ended early, and messages may still use "
                           "its memory; make a new communicator");
  request_.core.reset();
}

void CallImpl::open_channel(Transport& transport) {
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
  if (!request_.error) request_.error = communicator_.transport_failure();
  if (!request_.core) return;
  PlanCore& core = *request_.core;
  core.in_flight = true;
  executor_ = &core.executor();
  try {
    if (core.device() != nullptr) begin_on_device();
    if (core.offloading() == nullptr)
      executor_->offloaded().reserve(number_);
    else if (!request_.error)
      offloads_ = core.offloading()->ready(executor_->offloaded(), number_);
    if (core.offloading() != nullptr && !offloads_) executor_ = &core.other_executor();
    if (request_.error) return;
    if (request_.state != nullptr) {
      request_.state->bring_to(core.device_work(), core.state_bytes());
      request_.state->key.reserve(core.state_key().size());  // it is written when all agree
    } else if (communicator_.transport().ranks() > 1) {
      // What a codec remembers must not change before all ranks agree; without state, encoding can
      // hide the time the agreement takes.
      begin();
    }
  } catch (...) {
    if (!request_.error) request_.error = communicator_.take_failure("the start of a call");
  }
}

void CallImpl::begin_on_device() {
  PlanCore& core = *request_.core;
  const DeviceWork::Use use(core.device()->work().get());
  if (!request_.error) request_.error = communicator_.device_failure();
  if (request_.error) return;
  device_.emplace(*core.device(), request_.input, request_.output,
                  core.count() * size_of(core.type()), request_.stream);
  device_->begin();
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
    finish(communicator_.take_failure("a call on this rank"));
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
      if (!agreement_->finished()) return agreement_->waits_for();
      if (request_.core->offloading() == nullptr)
        return "the device, which still has to do with the words of the plan";
      return "an earlier call, which comes before it at the aggregator";
    case State::agreeing_late:
      if (!agreement_->finished()) return agreement_->waits_for() + " (late rounds)";
      [[fallthrough]];
    default: return executor_->waits_for();
  }
}

bool CallImpl::step() {
  const DeviceWork::Use use(device_work());
  if (state_ == State::leaving) return try_to_finish();
  bool moved = poll();
  // Asked even where a call with state has not begun: no timeout runs before the stream has come.
  const bool may_work = !device_ || device_->may_work();
  if (state_ == State::agreeing && agreement_->finished()) {
    if (agreement_->error() || !request_.core) {
      leave(agreement_->error());
      return true;
    }
    if (!open()) return moved;
    moved = true;
  }
  if (!begun_ || !may_work) return moved;
  Executor& executor = *executor_;
  moved |= executor.advance();
  if (state_ == State::running && executor.late_rounds_due()) {
    decide_late_rounds();
    moved = true;
  }
  if (state_ == State::agreeing_late && agreement_->finished()) {
    // An error waits for what is under way, so that no message is left behind.
    error_ = agreement_->error();
    if (error_)
      executor.skip_late_rounds();
    else
      executor.start_late_rounds();
    state_ = State::running;
    moved = true;
  }
  if (state_ == State::running && executor.finished() && (!device_ || device_->finish())) {
    if (request_.state != nullptr) ++request_.state->step;
    if (offloads_) request_.core->offloading()->finished(executor.offloaded(), number_);
    leave(std::move(error_));
  }
  return moved;
}

/// The result is known, but other ranks may still miss what this one sent.
void CallImpl::leave(std::optional<Error> error) {
  error_ = std::move(error);
  state_ = State::leaving;
  try_to_finish();
}

bool CallImpl::try_to_finish() {
  if (!channel_->settled()) return false;
  finish(std::move(error_));
  return true;
}

Offloads CallImpl::own_word() const {
  if (offloads_) return Offloads::yes;
  const bool waits = request_.core && request_.core->offloading() != nullptr &&
                     request_.core->offloading()->waits_for_others();
  return waits ? Offloads::waits_for_others : Offloads::no;
}

/// Whether it could: an aggregator in the network wants calls in one order on all ranks, and a
/// device may still have to do with the words of the call before.
bool CallImpl::open() {
  if (device_ && !device_->may_receive()) return false;
  if (request_.core->offloading() != nullptr) {
    take_agreed_way();
    if (offloads_ && !communicator_.turn_of(*this)) return false;
    if (offloads_) executor_->offloaded().reserve(number_);
  }
  if (!begun_) begin();
  executor_->open();
  state_ = State::running;
  return true;
}

/// A rank that was ready to offload may have begun so; what it encoded then is encoded again.
void CallImpl::take_agreed_way() {
  const auto unready = agreement_->unready_rank();
  if (!unready) return;
  PlanCore& core = *request_.core;
  if (offloads_) begun_ = false;
  offloads_ = false;
  executor_ = &core.other_executor();
  core.offloading()->declined(*unready == communicator_.transport().rank(), *unready,
                              core.description().other_algorithm);
}

/// Late rounds follow from words that ranks received. No rank may decide about them by its own
/// words alone: where these differ, one would wait for ever for a round that the others do without.
/// Their memory is, besides, the one thing that a rank may lack after the call's agreement.
void CallImpl::decide_late_rounds() {
  std::optional<Error> failure;
  CallSignature signature;
  signature.text("call", "late rounds");
  signature.differs_by(ErrorKind::transport,
                       "elements of late rounds differ when words were changed on their way");
  try {
    executor_->prepare_late_rounds(signature);
  } catch (...) {
    failure = current_failure("the late rounds of codec " + request_.core->description().codec);
  }
  if (!executor_->has_late_rounds()) return;
  agreement_.emplace(*channel_, communicator_.transport().rank(), communicator_.transport().ranks(),
                     std::move(signature), std::move(failure));
  state_ = State::agreeing_late;
}

bool CallImpl::poll() {
  std::array<Completion, 32> done;
  lap(communicator_.profile, Phase::other);
  const std::size_t count = channel_->poll(done);
  lap(communicator_.profile, count != 0 ? Phase::wire : Phase::wait);
  for (std::size_t i = 0; i < count; ++i) {
    if (CallAgreement::owns(done[i].cookie))
      agreement_->complete(done[i]);
    else
      executor_->complete(done[i]);
  }
  return count != 0;
}

void CallImpl::begin() {
  const DeviceWork::Use use(device_work());
  CallBuffers buffers{.type = request_.core->type(),
                      .input = device_ ? device_->input() : request_.input,
                      .output = device_ ? device_->output() : request_.output,
                      .step = request_.step};
  if (request_.state != nullptr) {
    request_.state->key = request_.core->state_key();
    buffers.state =
        request_.state->bring_to(request_.core->device_work(), request_.core->state_bytes());
  }
  executor_->begin(buffers, *channel_, communicator_.profile, request_.timeout != 0);
  begun_ = true;
}

void CallImpl::finish(std::optional<Error> error) {
  error_ = std::move(error);
  // Half-updated feedback would count a gradient twice.
  if (error_ && begun_ && request_.state != nullptr) *request_.state = {};
  const bool early = error_ && state_ != State::leaving;  // else all ranks end alike
  const bool goes = early && goes_on();
  const bool kept = goes && keep();
  // Others may go on with this call, and their messages must not meet another communicator.
  if (early && channel_ != nullptr && !channel_->ends_at_once()) communicator_.keep_transport();
  if (!kept) channel_.reset();
  if (error_) communicator_.ended_with(*error_, goes);
  // Nothing that this call put into streams may meet the next one's words.
  if (error_ && device_) request_.core->device()->drain();
  if (kept)
    device_.reset();
  else
    give_back_plan();
  state_.store(State::done, std::memory_order_release);
}

bool CallImpl::goes_on() noexcept {
  bool over = channel_ == nullptr || channel_->give_up();
  if (executor_ != nullptr) over &= executor_->offloaded().give_up();
  return !over;
}

/// What goes on needs its memory until the process ends, for all that anybody can know. False: that
/// cannot be had, and the end of the call waits for other ranks.
bool CallImpl::keep() noexcept {
  if (executor_ != nullptr && executor_->uses_users_memory()) return false;
  const std::shared_ptr<CallImpl> self = weak_from_this().lock();
  if (!self || !communicator_.keep(self)) return false;
  if (!request_.core) return true;
  request_.core->in_flight = false;
  request_.core->given_up = true;
  return true;
}

void CallImpl::give_back_plan() {
  if (!request_.core) return;
  device_.reset();  // it gives back what is the plan's
  if (executor_ != nullptr) executor_->end();
  request_.core->in_flight = false;
  request_.core.reset();  // a request may be kept for long
}

bool CallImpl::test() {
  if (!done()) progress_in_this_thread(communicator_);
  if (done() && error_) throw Error(*error_);
  return done();
}

void CallImpl::finish_quietly() {
  Backoff backoff;
  while (!done()) {
    if (progress_in_this_thread(communicator_)) {
      backoff.moved();
    } else {
      backoff.wait();
      lap(communicator_.profile, Phase::wait);
    }
  }
}

void CallImpl::wait() {
  finish_quietly();
  if (error_) throw Error(*error_);
}

}  // namespace cohom
