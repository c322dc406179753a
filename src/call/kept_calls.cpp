#include "call/kept_calls.hpp"

#include "base/log.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <new>
#include <utility>

namespace cohom {

/// Never destroyed: what they wait for may be over before the process ends, or not.
KeptCalls& KeptCalls::instance() {
  static KeptCalls& all = *std::make_unique<KeptCalls>().release();
  return all;
}

bool KeptCalls::keep(std::shared_ptr<Transport> transport,
                     std::shared_ptr<Aggregator> native_reductions) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    paths_.push_back({std::move(transport), std::move(native_reductions)});
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool KeptCalls::keep(std::shared_ptr<EndedCall> call) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    warn_once(
        "a call ended early, and its messages may go on: its memory stays until they end, or the "
        "process");
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void KeptCalls::release_calls() noexcept {
  std::vector<std::shared_ptr<EndedCall>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  // Without the lock: this calls MPI.
  std::erase_if(calls, [](const auto& call) { return !call->goes_on(); });
  const std::lock_guard lock(mutex_);
  calls.swap(calls_);
  for (auto& newer : calls) calls_.push_back(std::move(newer));
}

void KeptCalls::release_transports() noexcept {
  release_calls();
  std::vector<Path> paths;
  const std::lock_guard lock(mutex_);
  if (calls_.empty()) paths.swap(paths_);
}

}  // namespace cohom
