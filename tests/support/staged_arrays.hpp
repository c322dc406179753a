#pragma once
// Arrays of the host as a call of a device's kernel needs them: copies in device memory for as long
// as the call takes, with nothing behind their ends, at addresses that are as badly aligned.

#include "kernels/device_runtime/device_context.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace cohom::test {

/// One call and its arrays.
class StagedCall {
 public:
  explicit StagedCall(const kernels::DeviceLibrary& library)
      : runtime_(*library.runtime), context_(context_of(library)), scope_(context_) {}
  StagedCall(const StagedCall&) = delete;
  StagedCall& operator=(const StagedCall&) = delete;
  ~StagedCall() {
    context_.synchronise();
    for (const Array& array : arrays_) runtime_.free(array.memory);
  }

  /// Device memory with what the host has, aligned to `unit` at least; null for null.
  template <class T>
  T* in(T* host, std::size_t bytes, std::size_t unit = 1) {
    if (host == nullptr) return nullptr;
    for (const Array& array : arrays_)
      if (array.host == host) return reinterpret_cast<T*>(array.device);
    Array array{.host = host};
    const std::size_t odd = reinterpret_cast<std::uintptr_t>(host) % 16 / unit * unit;
    array.memory = runtime_.allocate(odd + bytes);
    array.device = static_cast<std::byte*>(array.memory) + odd;
    arrays_.push_back(array);
    if (bytes != 0) runtime_.copy_to_device(array.device, host, bytes, nullptr);
    return reinterpret_cast<T*>(array.device);
  }

  /// Takes back what a call has written, when it is done.
  void out(void* host, std::size_t bytes) {
    if (host == nullptr || bytes == 0) return;
    runtime_.copy_to_host(host, in(host, bytes), bytes, nullptr);
    context_.synchronise();
  }

 private:
  struct Array {
    const void* host = nullptr;
    void* memory = nullptr;
    std::byte* device = nullptr;
  };

  static kernels::DeviceContext& context_of(const kernels::DeviceLibrary& library) {
    thread_local std::map<const kernels::DeviceLibrary*, kernels::DeviceContext> contexts;
    return contexts.try_emplace(&library, library, nullptr).first->second;
  }

  kernels::DeviceRuntime& runtime_;
  kernels::DeviceContext& context_;
  kernels::DeviceScope scope_;
  std::vector<Array> arrays_;
};

}  // namespace cohom::test
