#pragma once
// Arrays in a device's memory.

#include "kernels/cuda/device_context.hpp"

#include <cstddef>
#include <utility>

namespace cohom::bench {

class DeviceMemory {
 public:
  DeviceMemory(kernels::DeviceContext& context, std::size_t bytes)
      : runtime_(&context.runtime()), memory_(runtime_->allocate(bytes)), bytes_(bytes) {
    runtime_->fill(memory_, 0, bytes, context.stream());
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : runtime_(other.runtime_),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(other.bytes_) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() { runtime_->free(memory_); }

  template <class T = std::byte>
  [[nodiscard]] T* data() const {
    return static_cast<T*>(memory_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  kernels::DeviceRuntime* runtime_;
  void* memory_;
  std::size_t bytes_;
};

}  // namespace cohom::bench
