#include "aggregation/net/host_lookup.hpp"

#include "aggregation/net/event.hpp"

#include <cohom/error.hpp>

#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace cohom::offload {

struct HostLookup::Answer {
  Event event;
  std::mutex mutex;
  std::optional<sockaddr_in> address;
  std::exception_ptr failure;

  void find(const Endpoint& endpoint) {
    std::optional<sockaddr_in> found;
    std::exception_ptr why;
    try {
      found = resolve(endpoint);
    } catch (...) {
      why = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    address = found;
    failure = why;
    event.set();
  }
};

HostLookup::HostLookup(const Endpoint& endpoint) : answer_(std::make_shared<Answer>()) {
  try {
    // It inherits what the caller's thread does with signals.
    std::thread([answer = answer_, endpoint] { answer->find(endpoint); }).detach();
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::transport, std::string("no thread to look up a name: ") + error.what());
  }
}

int HostLookup::descriptor() const { return answer_->event.descriptor(); }

sockaddr_in HostLookup::address() const {
  const std::lock_guard lock(answer_->mutex);
  if (answer_->failure) std::rethrow_exception(answer_->failure);
  if (!answer_->address) throw Error(ErrorKind::transport, "no answer yet");
  return *answer_->address;
}

}  // namespace cohom::offload
