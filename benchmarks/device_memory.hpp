#pragma once
// Arrays in a device's memory.

#include "kernels/device_runtime/device_context.hpp"

#include <cstddef>
#include <utility>

namespace cohom::bench {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(kernels::DeviceContext& context, std::size_t bytes)
      : runtime_(&context.runtime()), memory_(runtime_->allocate(bytes)), bytes_(bytes) {
    runtime_->fill(memory_, 0, bytes, context.stream());
  }
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    DeviceMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceMemory() {
    if (memory_ != nullptr) runtime_->free(memory_);
  }

  template <class T = std::byte>
  [[nodiscard]] T* data() const {
    return static_cast<T*>(memory_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  kernels::DeviceRuntime* runtime_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace cohom::bench
