#include "call/call_resources.hpp"

#include "agreement/begun_agreement.hpp"
#include "call/call_failures.hpp"
#include "call/call_owner.hpp"

#include <new>
#include <utility>

namespace cohom {

CallResources::CallResources(CallOwner& owner, std::uint64_t number, CallRequest request)
    : owner_(owner), number_(number), request_(std::move(request)), route_(number) {}

CallResources::~CallResources() {
  // A call that is over gave the plan back; by now it may be in flight for another one.
  if (ended_) return;
  channel_.reset();
  give_back_plan();
}

void CallResources::take() {
  request_.drop_given_up_plan(owner_.failures());
  open_channel();
  prepare();
}

void CallResources::open_channel() {
  if (request_.begun) {
    channel_ = std::move(request_.begun->channel);
    return;
  }
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

void CallResources::prepare() {
  if (!request_.error) request_.error = owner_.failures().of_transport();
  // Before there is another call in flight: this one.
  waits_ = request_.told_that_it_waits ||
           (request_.blocks && request_.timeout == 0 && owner_.nothing_else_moves());
  if (!request_.core) return;
  request_.core->calls.in_flight = true;
  route_.of_plan(*request_.core);
  try {
    prepare_of_plan(*request_.core);
  } catch (...) {
    if (!request_.error) request_.error = owner_.failures().take("the start of a call");
  }
}

void CallResources::prepare_of_plan(PlanCore& core) {
  if (core.device() != nullptr) begin_on_device();
  if (NativeSums* const native = core.native_sums()) {
    native_.emplace(*native, core, owner_.transport().rank(), owner_.transport().ranks());
    const bool may_give_up = request_.timeout != 0 && !core.has_routes();
    if (!request_.error) native_->prepare(request_.input, request_.output, may_give_up);
    if (!core.has_routes()) return;
  }
  turn_.take(core, owner_.transport().rank());
  route_.prepare(request_.error.has_value());
  if (request_.error) return;
  // Where one rank has no memory for the third way none may go it: that rank says that it does not
  // wait, and a call for which not all wait goes its own way.
  if (waits_ && turn_.goes_third_way() && !route_.take_third()) waits_ = false;
  ShortSum* const sum = short_sum();
  if (sum != nullptr) core.routes().take_memory_of(*sum);
  if (PlanPart* const own = part()) own->prepare(input(), output());
  // Kinds of calls that come once cost what MPI's own do: short vectors travel with the agreement,
  // and the first call of a race goes natively. Who needs memory all the same takes it in begin();
  // a part's vectors lie there.
  const bool native_turn = waits_ && turn_.has_race() && may_go_natively();
  if (!native_turn && (sum == nullptr || part() != nullptr)) route_.take_memory();
  turn_.start_clock(request_.turn_began);
  if (sum != nullptr && !request_.begun) sum->begin(codec_input(), codec_output());
  if (request_.state != nullptr) {
    request_.state->bring_to(core.device_work(), core.state_bytes());
    request_.state->key.reserve(core.state_key().size());  // it is written when all agree
  } else if (owner_.transport().ranks() > 1 && sum == nullptr && !may_go_natively()) {
    // What a codec remembers must not change before all ranks agree; without state, encoding can
    // hide the time the agreement takes.
    begin();
  }
}

void CallResources::begin_on_device() {
  PlanCore& core = *request_.core;
  const DeviceWork::Use use(core.device()->work().get());
  if (!request_.error) request_.error = owner_.failures().of_device();
  if (request_.error) return;
  device_.emplace(*core.device(), request_.input, request_.output, request_.stream);
  device_->begin();
}

DeviceWork* CallResources::device_work() const {
  return request_.core && request_.core->device() ? request_.core->device()->work().get() : nullptr;
}

const void* CallResources::codec_input() const {
  const PlanPart* const own = part();
  return own != nullptr ? own->input() : input();
}

void* CallResources::codec_output() const {
  const PlanPart* const own = part();
  return own != nullptr ? own->output() : output();
}

void CallResources::take_input() {
  if (std::exchange(has_input_, true)) return;
  if (PlanPart* const own = part()) own->take_input();
}

bool CallResources::write_output(bool wanted) {
  if (!wrote_output_ && wanted) write_hosts_output();
  wrote_output_ = true;
  return !device_ || device_->complete(wanted);
}

void CallResources::write_hosts_output() {
  if (PlanPart* const own = part()) own->write_output();
}

void CallResources::begin() {
  const DeviceWork::Use use(device_work());
  // It was not where this rank waits, in a native turn, and another one does not, nor for a short
  // vector, which another one does not add.
  route_.take_memory();
  CallBuffers buffers{.type = request_.core->type(),
                      .input = codec_input(),
                      .output = codec_output(),
                      .step = request_.step,
                      .added = request_.added.get()};
  if (PlanPart* const own = part()) {
    buffers.first_wanted = own->first_wanted();
    buffers.end_wanted = own->end_wanted();
  }
  if (request_.state != nullptr) buffers.state = take_state();
  route_.executor()->begin(buffers, *channel_, owner_.profile(), request_.timeout != 0);
  begun_ = true;
}

std::span<std::byte> CallResources::take_state() {
  request_.state->key = request_.core->state_key();
  return request_.state->bring_to(request_.core->device_work(), request_.core->state_bytes());
}

void CallResources::stop_workers() {
  if (route_.executor() != nullptr) route_.executor()->stop();
}

void CallResources::end(const std::optional<Error>& error, End end,
                        const std::weak_ptr<EndedCall>& call) {
  // Half-updated feedback would count a gradient twice.
  if (error && begun_ && request_.state != nullptr) *request_.state = {};
  const bool early = error && end != End::alike;
  const bool goes = early && goes_on();
  const bool kept = goes && keep(call);
  const bool leaves = early && leaves_channel(end == End::owed);
  if (!kept) {
    channel_.reset();
    native_.reset();
  }
  if (error) owner_.failures().ended_with(*error, goes || leaves);
  // Nothing that this call put into streams may meet the next one's words.
  if (error && device_) request_.core->device()->drain();
  if (kept)
    device_.reset();
  else
    give_back_plan();
  request_.added.reset();  // all that was to be encoded is
  ended_ = true;
}

/// Of a call that ends early: whether others may wait for it, without a timeout, or a later call
/// would meet a message of this one.
bool CallResources::leaves_channel(bool owed) {
  if (channel_ == nullptr) return false;
  // Others may go on with this call, and their messages must not meet another communicator.
  if (owed || !channel_->ends_at_once()) owner_.failures().keep_transport();
  return owed || request_.timeout == 0;
}

bool CallResources::goes_on() noexcept {
  bool over = channel_ == nullptr || channel_->give_up();
  if (route_.executor() != nullptr) over &= route_.executor()->offloaded().give_up();
  if (native_) over &= native_->give_up();
  return !over;
}

/// What goes on needs its memory until the process ends, for all that anybody can know. False: that
/// cannot be had, and the end of the call waits for other ranks.
bool CallResources::keep(const std::weak_ptr<EndedCall>& call) noexcept {
  if (route_.executor() != nullptr && route_.executor()->uses_users_memory()) return false;
  if (native_ && native_->uses_users_memory()) return false;
  const std::shared_ptr<EndedCall> self = call.lock();
  if (!self || !owner_.failures().keep(self)) return false;
  if (!request_.core) return true;
  request_.core->calls.in_flight = false;
  request_.core->calls.given_up = true;
  return true;
}

void CallResources::give_back_plan() {
  if (!request_.core) return;
  device_.reset();  // it gives back what is the plan's
  if (route_.executor() != nullptr) route_.executor()->end();
  request_.core->calls.in_flight = false;
  request_.core.reset();  // a request may be kept for long
}

}  // namespace cohom
