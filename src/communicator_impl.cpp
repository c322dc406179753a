#include "communicator_impl.hpp"

#include <utility>

namespace cohom {

CommunicatorImpl::CommunicatorImpl(std::shared_ptr<Transport> transport,
                                   std::shared_ptr<Aggregator> aggregator)
    : transport_(std::move(transport)), aggregator_(std::move(aggregator)) {}

CommunicatorImpl::~CommunicatorImpl() {
  while (!in_flight_.empty()) std::shared_ptr(in_flight_.front())->finish_quietly();
}

PlanEnvironment CommunicatorImpl::environment() const {
  return {.transport = transport_.get(),
          .aggregator = aggregator_.get(),
          .kernels = &kernels::kernel_table(),
          .tuning = tuning};
}

std::shared_ptr<CallImpl> CommunicatorImpl::start(CallRequest request) {
  // Channels are numbered modulo a limit: the call that had this number before must be over.
  while (!in_flight_.empty() && in_flight_.front()->number() + transport_->channels() <= next_call_)
    std::shared_ptr(in_flight_.front())->finish_quietly();
  auto call = std::make_shared<CallImpl>(*this, next_call_++, std::move(request));
  in_flight_.push_back(call);
  return call;
}

void CommunicatorImpl::finish_calls_with(const StateBuffer& state) {
  for (const auto& call : std::vector(in_flight_))
    if (call->uses(state)) call->finish_quietly();
}

bool CommunicatorImpl::progress() {
  bool moved = false;
  for (const auto& call : in_flight_) moved |= call->advance();
  std::erase_if(in_flight_, [](const auto& call) { return call->done(); });
  return moved;
}

}  // namespace cohom
