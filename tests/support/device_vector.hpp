#pragma once
// Vectors on the device that tests run on: the emulated one, whose memory the host cannot touch, or
// with COHOM_TEST_DEVICE=cuda a real one.

#include "elements.hpp"
#include "kernels/device_runtime/emulated/emulated_runtime.hpp"
#include "memory/device_loader.hpp"
#include "testing/loopback_transport.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

namespace cohom::test {

inline const kernels::DeviceLibrary& tested_device() {
  static const kernels::DeviceLibrary& library = []() -> const kernels::DeviceLibrary& {
    const char* const name = std::getenv("COHOM_TEST_DEVICE");
    if (name == nullptr || name != std::string("cuda")) return kernels::emulated_device();
    const kernels::DeviceLibrary* const found = device_library();
    if (found == nullptr) throw std::runtime_error("COHOM_TEST_DEVICE=cuda: " + why_no_device());
    return *found;
  }();
  return library;
}

inline kernels::DeviceRuntime& tested_runtime() { return *tested_device().runtime; }

class DeviceVector {
 public:
  explicit DeviceVector(std::size_t bytes, int device = 0) : bytes_(bytes) {
    auto& runtime = tested_runtime();
    const int before = runtime.current_device();
    runtime.set_device(device);
    memory_.reset(runtime.allocate(bytes));
    runtime.set_device(before);
  }
  /// A copy of the host's bytes.
  explicit DeviceVector(const Bytes& bytes, int device = 0) : DeviceVector(bytes.size(), device) {
    tested_runtime().copy_to_device(data(), bytes.data(), bytes.size(), nullptr);
    tested_runtime().synchronise(nullptr);
  }

  [[nodiscard]] void* data() const { return memory_.get(); }
  [[nodiscard]] Bytes fetch() const {
    Bytes bytes(bytes_);
    tested_runtime().copy_to_host(bytes.data(), data(), bytes_, nullptr);
    tested_runtime().synchronise(nullptr);
    return bytes;
  }

 private:
  struct Free {
    void operator()(void* memory) const { tested_runtime().free(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<void, Free> memory_;
};

/// The device is the library's for this scope, and in order before and after.
class WithDevice {
 public:
  WithDevice() {
    kernels::emulated::restore();
    set_device_library(&tested_device());
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
    auto& runtime = tested_runtime();
    runtime.copy_within(to, from, bytes, nullptr);
    runtime.synchronise(nullptr);
  };
  return options;
}

}  // namespace cohom::test
