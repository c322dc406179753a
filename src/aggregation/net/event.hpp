#pragma once
// Event: one thread sets it, and a thread that polls descriptors sees it.

#include "aggregation/net/endpoint.hpp"
#include "base/file_descriptor.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace cohom::offload {

class Event {
 public:
  /// @throws Error(transport) when the process has no descriptor left
  Event() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!descriptor_.is_open()) throw_system_error("eventfd");
  }

  /// What poll() waits for: readable while the event is set.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// From any thread.
  void set() const {
    const std::uint64_t one = 1;
    // It can fail only when the event is set already.
    [[maybe_unused]] const ssize_t written = ::write(descriptor_.get(), &one, sizeof one);
  }

  /// Whether it was set; it no longer is.
  bool take() const {
    std::uint64_t count = 0;
    return ::read(descriptor_.get(), &count, sizeof count) == sizeof count;
  }

 private:
  FileDescriptor descriptor_;
};

}  // namespace cohom::offload
