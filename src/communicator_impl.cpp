#include "communicator_impl.hpp"

#include "failure.hpp"
#include "thread_progress.hpp"

#include <utility>

namespace cohom {

CommunicatorImpl::CommunicatorImpl(std::shared_ptr<Transport> transport, Aggregators aggregators)
    : transport_(std::move(transport)), aggregators_(std::move(aggregators)) {}

CommunicatorImpl::~CommunicatorImpl() {
  while (!in_flight_.empty()) {
    const auto call = in_flight_.front();
    // Nobody may ever hear of an error that only waits to be told.
    if (call->only_tells() && call.use_count() == 2)  // ours and in_flight_
      in_flight_.erase(in_flight_.begin());
    else
      call->finish_quietly();
  }
}

PlanEnvironment CommunicatorImpl::environment() {
  return {.transport = transport_.get(),
          .fabric = aggregators_.fabric.get(),
          .offloading = [this](const std::string& address) { return offloading(address); },
          .kernels = &kernels::kernel_table(),
          .tuning = tuning};
}

Offloading* CommunicatorImpl::offloading(const std::string& address) {
  const auto known = offloading_.find(address);
  if (known != offloading_.end()) return &known->second;
  if (address.empty() && !aggregators_.attached) return nullptr;
  if (!address.empty() && !aggregators_.connect)
    throw Error(ErrorKind::unsupported, "aggregator " + address +
                                            " is asked for, and this communicator has no way to "
                                            "connect to aggregators");
  auto aggregator = address.empty() ? aggregators_.attached : aggregators_.connect(address);
  return &offloading_.try_emplace(address, std::move(aggregator)).first->second;
}

OffloadCounters CommunicatorImpl::offload_counters() const {
  OffloadCounters sum;
  for (const auto& [address, offloading] : offloading_) {
    sum.offloaded += offloading.counters().offloaded;
    sum.repeated += offloading.counters().repeated;
    sum.declined += offloading.counters().declined;
    sum.bytes += offloading.counters().bytes;
  }
  return sum;
}

Error CommunicatorImpl::take_failure(const std::string& doing) {
  try {
    throw;
  } catch (const kernels::DeviceError& failure) {
    if (failure.sticky() && !device_failure_)
      device_failure_ =
          Error(failure.kind(), std::string("the device cannot go on: ") + failure.what() +
                                    "; calls with its buffers need a new process");
    return failure;
  } catch (...) {
    return current_failure(doing);
  }
}

void CommunicatorImpl::ended_with(const Error& error) {
  if (!broken_by_ && transport_->failure()) broken_by_ = error.what();
}

std::optional<Error> CommunicatorImpl::transport_failure() const {
  auto failure = transport_->failure();
  if (!failure || !broken_by_) return failure;
  return Error(failure->kind(),
               std::string(failure->what()) + "; the first error was: " + *broken_by_);
}

bool CommunicatorImpl::turn_of(const CallImpl& call) const {
  for (const auto& earlier : in_flight_) {
    if (earlier->number() >= call.number()) return true;
    if (earlier->agreeing()) return false;
  }
  return true;
}

std::shared_ptr<CallImpl> CommunicatorImpl::start(CallRequest request) {
  const auto guard = lock();
  // Channels are numbered modulo a limit: the call that had this number before must be over.
  while (!in_flight_.empty() && in_flight_.front()->number() + transport_->channels() <= next_call_)
    std::shared_ptr(in_flight_.front())->finish_quietly();
  if (profile != nullptr && in_flight_.empty()) profile->start();
  auto call = std::make_shared<CallImpl>(*this, next_call_++, std::move(request));
  // One that could not even begin is over, and nobody would take it out again.
  if (call->done()) return call;
  in_flight_.push_back(call);
  advance_in_this_thread(shared_from_this());
  return call;
}

void CommunicatorImpl::finish_calls_with(const StateBuffer& state) {
  const auto guard = lock();
  for (const auto& call : std::vector(in_flight_))
    if (call->uses(state)) call->finish_quietly();
}

bool CommunicatorImpl::progress() {
  const auto guard = lock();
  bool moved = false;
  for (const auto& call : in_flight_) moved |= call->advance();
  std::erase_if(in_flight_, [](const auto& call) { return call->done(); });
  return moved;
}

bool CommunicatorImpl::progress_if_free() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  return guard.owns_lock() && progress();
}

bool CommunicatorImpl::idle() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  return guard.owns_lock() && in_flight_.empty();
}

}  // namespace cohom
