#pragma once
// Vectors on the emulated device, which the host cannot touch.

#include "elements.hpp"
#include "kernels/cuda/emulated/emulated_runtime.hpp"
#include "loopback_transport.hpp"
#include "memory/device_loader.hpp"

#include <cstddef>
#include <memory>

namespace cohom::test {

class DeviceVector {
 public:
  explicit DeviceVector(std::size_t bytes, int device = 0) : bytes_(bytes) {
    auto& runtime = *kernels::emulated_device().runtime;
    const int before = runtime.current_device();
    runtime.set_device(device);
    memory_.reset(runtime.allocate(bytes));
    runtime.set_device(before);
  }
  /// A copy of the host's bytes.
  explicit DeviceVector(const Bytes& bytes, int device = 0) : DeviceVector(bytes.size(), device) {
    if (!bytes.empty()) kernels::emulated::write(data(), bytes.data(), bytes.size());
  }

  [[nodiscard]] void* data() const { return memory_.get(); }
  [[nodiscard]] Bytes fetch() const {
    Bytes bytes(bytes_);
    if (bytes_ != 0) kernels::emulated::read(bytes.data(), data(), bytes_);
    return bytes;
  }

 private:
  struct Free {
    void operator()(void* memory) const { kernels::emulated_device().runtime->free(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<void, Free> memory_;
};

/// The emulated device is the library's for this scope, and in order before and after.
class WithDevice {
 public:
  WithDevice() {
    kernels::emulated::restore();
    set_device_library(&kernels::emulated_device());
  }
  ~WithDevice() {
    kernels::emulated::restore();
    set_device_library(nullptr, "the test is over");
  }
  WithDevice(const WithDevice&) = delete;
  WithDevice& operator=(const WithDevice&) = delete;
};

/// A loopback that moves a device's bytes by itself.
inline LoopbackOptions reaching_device() {
  LoopbackOptions options;
  options.copy = [](void* to, const void* from, std::size_t bytes) {
    auto& runtime = *kernels::emulated_device().runtime;
    runtime.copy_within(to, from, bytes, nullptr);
    runtime.synchronise(nullptr);
  };
  return options;
}

}  // namespace cohom::test
