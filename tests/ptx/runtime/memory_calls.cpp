// Memory and copies, as CUDA's runtime does them.

#include "device_state.hpp"
#include "ptx/device_memory.hpp"
#include "streams.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace cohom::ptx {
namespace {

constexpr std::size_t page = 4096;

/// A side of a copy.
struct Place {
  std::uint8_t* view;  ///< null for device memory that is not allocated
  bool is_device, is_pinned;

  explicit Place(const void* address, std::size_t bytes) {
    const DeviceMemory& memory = DeviceMemory::instance();
    is_device = memory.holds(address);
    is_pinned = !is_device && memory.is_pinned(address);
    view = is_device ? memory.whole(address, bytes)
                     : static_cast<std::uint8_t*>(const_cast<void*>(address));
  }
  /// Whether a copy may be late: other memory of the host is read, or written, before the call
  /// returns.
  [[nodiscard]] bool may_be_late() const { return is_device || is_pinned; }
};

/// What is copied is as written as it was; null: wholly.
void copy_state(const void* to, const void* from, std::size_t bytes) {
  DeviceMemory& memory = DeviceMemory::instance();
  if (!memory.holds(to)) return;
  std::uint8_t* const state = memory.state(memory.offset(to));
  if (from != nullptr && memory.holds(from))
    std::memcpy(state, memory.state(memory.offset(from)), bytes);
  else
    std::memset(state, DeviceMemory::allocated | DeviceMemory::written, bytes);
}

void enqueue_copy(const std::shared_ptr<Stream>& stream, void* to, const void* from,
                  const Place& target, const Place& source, std::size_t bytes) {
  if (source.may_be_late()) {
    Streams::instance().put(stream, [=] {
      if (is_broken()) return;
      std::memcpy(target.view, source.view, bytes);
      copy_state(to, from, bytes);
    });
    return;
  }
  const auto snapshot =
      std::make_shared<std::vector<std::uint8_t>>(source.view, source.view + bytes);
  Streams::instance().put(stream, [=] {
    if (is_broken()) return;
    std::memcpy(target.view, snapshot->data(), bytes);
    copy_state(to, nullptr, bytes);
  });
}

}  // namespace
}  // namespace cohom::ptx

using cohom::ptx::DeviceLock;
using cohom::ptx::DeviceMemory;
using cohom::ptx::Place;
using cohom::ptx::Streams;
using cohom::ptx::told;

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const DeviceLock lock;
  if (cohom::ptx::is_broken()) return told(cudaSuccess);
  *memory = DeviceMemory::instance().allocate(bytes);
  return told(*memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}
/// Waits for the device.
cudaError_t cudaFree(void* memory) {
  const DeviceLock lock;
  if (memory == nullptr) return told(cudaSuccess);
  Streams::instance().do_all();
  return told(DeviceMemory::instance().free(memory) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  const DeviceLock lock;
  const std::size_t capacity = (bytes + cohom::ptx::page - 1) / cohom::ptx::page * cohom::ptx::page;
  *memory = std::aligned_alloc(cohom::ptx::page, capacity);
  if (*memory == nullptr) return told(cudaErrorMemoryAllocation);
  std::memset(*memory, 0xcd, capacity);
  DeviceMemory::instance().add_pinned(*memory, bytes);
  return told(cudaSuccess);
}
/// Waits for the device.
cudaError_t cudaFreeHost(void* memory) {
  const DeviceLock lock;
  if (memory == nullptr) return told(cudaSuccess);
  Streams::instance().do_all();
  if (!DeviceMemory::instance().remove_pinned(memory)) return told(cudaErrorInvalidValue);
  std::free(memory);
  return told(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t handle) {
  const DeviceLock lock;
  const auto stream = Streams::instance().find(reinterpret_cast<Streams::Handle>(handle));
  if (!stream) return told(cudaErrorInvalidResourceHandle);
  const Place target(to, bytes), source(from, bytes);
  if (target.view == nullptr || source.view == nullptr) return told(cudaErrorInvalidValue);
  cohom::ptx::enqueue_copy(stream, to, from, target, source, bytes);
  if (!target.may_be_late()) stream->do_all();
  return told(cudaSuccess);
}
cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes, cudaStream_t handle) {
  const DeviceLock lock;
  const auto stream = Streams::instance().find(reinterpret_cast<Streams::Handle>(handle));
  if (!stream) return told(cudaErrorInvalidResourceHandle);
  const Place target(memory, bytes);
  if (target.view == nullptr) return told(cudaErrorInvalidValue);
  stream->note_kernel();
  Streams::instance().put(stream, [=] {
    if (cohom::ptx::is_broken()) return;
    std::memset(target.view, byte, bytes);
    cohom::ptx::copy_state(memory, nullptr, bytes);
  });
  return told(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* address) {
  const DeviceLock lock;
  *found = {};
  found->device = -1;
  found->type = cudaMemoryTypeUnregistered;
  if (DeviceMemory::instance().is_allocated(address))
    found->type = cudaMemoryTypeDevice;
  else if (DeviceMemory::instance().is_pinned(address))
    found->type = cudaMemoryTypeHost;
  if (found->type != cudaMemoryTypeUnregistered) found->device = 0;
  return told(cudaSuccess);
}

}  // extern "C"
