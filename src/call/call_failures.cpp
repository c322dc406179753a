#include "call/call_failures.hpp"

#include "base/failure.hpp"
#include "memory/device_work.hpp"

#include <cohom/offload.hpp>

#include <utility>

namespace cohom {

CallFailures::CallFailures(std::shared_ptr<Transport> transport,
                           std::shared_ptr<Aggregator> native_reductions)
    : transport_(std::move(transport)), native_reductions_(std::move(native_reductions)) {}

Error CallFailures::take(const std::string& doing) {
  try {
    throw;
  } catch (const kernels::DeviceError& failure) {
    if (failure.sticky() && !of_device_)
      of_device_ = Error(failure.kind(), std::string("the device cannot go on: ") + failure.what() +
                                             "; calls with its buffers need a new process");
    return failure;
  } catch (...) {
    return current_failure(doing);
  }
}

std::optional<Error> CallFailures::of_transport() const {
  auto failure = transport_->failure();
  if (!failure && left_)
    failure = Error(ErrorKind::transport,
                    "an earlier call on this communicator ended early on this rank; make a new "
                    "communicator");
  if (!failure || !broken_by_) return failure;
  return Error(failure->kind(),
               std::string(failure->what()) + "; the first error was: " + *broken_by_);
}

void CallFailures::ended_with(const Error& error, bool left) {
  left_ |= left;
  if (!broken_by_ && (left_ || transport_->failure())) broken_by_ = error.what();
}

bool CallFailures::keep_transport() noexcept {
  if (!transport_is_kept_)
    transport_is_kept_ = KeptCalls::instance().keep(transport_, native_reductions_);
  return transport_is_kept_;
}

bool CallFailures::keep(std::shared_ptr<EndedCall> call) noexcept {
  return keep_transport() && KeptCalls::instance().keep(std::move(call));
}

}  // namespace cohom
