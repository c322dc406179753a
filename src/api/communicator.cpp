#include <cohom/communicator.hpp>

#include "call/communicator_impl.hpp"

#include <cohom/error.hpp>

#include <utility>

namespace cohom {

Communicator::Communicator(std::shared_ptr<Transport> transport, Aggregators aggregators)
    : impl_(std::make_shared<CommunicatorImpl>(std::move(transport), std::move(aggregators))) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return impl_->transport().rank(); }
int Communicator::ranks() const { return impl_->transport().ranks(); }
const Transport& Communicator::transport() const { return impl_->transport(); }
const Topology& Communicator::topology() const { return impl_->topology(); }
WireCounters Communicator::wire_counters() const {
  const auto guard = impl_->lock();
  WireCounters counters = impl_->transport().counters();
  counters.bytes_sent += impl_->offload_counters().bytes;
  return counters;
}
std::uint64_t Communicator::native_calls() const {
  const auto guard = impl_->lock();
  return impl_->native_calls();
}
std::uint64_t Communicator::third_calls() const {
  const auto guard = impl_->lock();
  return impl_->third_calls();
}
std::uint64_t Communicator::bypassed_calls() const {
  const auto guard = impl_->lock();
  return impl_->bypassed_calls();
}
OffloadCounters Communicator::offload_counters() const {
  const auto guard = impl_->lock();
  return impl_->offload_counters();
}
void Communicator::set_profile(Profile* profile) { impl_->set_profile(profile); }
bool Communicator::progress() { return impl_->progress(); }

std::vector<std::byte> Communicator::save_state(std::string_view buffer) const {
  const auto& states = impl_->states();
  const auto found = states.find(buffer);
  if (found != states.end()) impl_->complete_calls_with(found->second);
  if (found == states.end() || found->second.key.empty())  // never used, or its calls failed
    throw Error(ErrorKind::invalid_argument,
                "buffer \"" + std::string(buffer) + "\" has no state on this communicator");
  return found->second.save();
}

void Communicator::restore_state(std::string_view buffer, std::span<const std::byte> saved) {
  StateBuffer restored = StateBuffer::restore(saved);
  StateBuffer& state = impl_->states()[std::string(buffer)];
  impl_->complete_calls_with(state);
  state = std::move(restored);
}

void Communicator::reset_state(std::string_view buffer) {
  const auto found = impl_->states().find(buffer);
  if (found == impl_->states().end()) return;
  impl_->complete_calls_with(found->second);
  found->second = StateBuffer{};
}

}  // namespace cohom
