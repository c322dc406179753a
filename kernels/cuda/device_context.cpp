#include "kernels/cuda/device_context.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::kernels {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t least_scratch = std::size_t{1} << 20;
constexpr std::size_t least_half = std::size_t{64} << 10;

constexpr std::size_t rounded_up(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

/// What was taken before a failure is given back by the destructor.
DeviceContext::DeviceContext(const DeviceLibrary& library, DeviceStream stream)
    : DeviceContext(library, stream, Empty{}) {
  reserve(0);
}

DeviceContext::~DeviceContext() {
  try {
    synchronise();
  } catch (const Error&) {  // sticky: whoever used the stream was told
  }
  release_scratch();
  runtime().free_pinned(staging_.memory);
  runtime().free_pinned(results_.memory);
  for (const DeviceEvent event : read_)
    if (event != nullptr) runtime().destroy_event(event);
}

/// A byte for four elements holds the offsets of 32 packed payloads, and the codes of thc's usual
/// blocks many times. Small rotations take more when they come, and those above 2048 take 32 MiB.
void DeviceContext::reserve(std::size_t elements) {
  grow_scratch(least_scratch + elements / 4);
  grow_staging(least_half + elements / 64);
  grow_results(least_half + elements / 16);
}

void DeviceContext::release_scratch() noexcept {
  for (const Block& block : scratch_) runtime().free(block.memory);
  scratch_.clear();
}

void DeviceContext::grow_scratch(std::size_t bytes) {
  bytes = rounded_up(bytes);
  if (scratch_.size() == 1 && scratch_[0].bytes >= bytes) return;
  if (!scratch_.empty()) synchronise();
  release_scratch();
  scratch_.reserve(8);
  scratch_.push_back({runtime().allocate(bytes), bytes});
}

void DeviceContext::begin_call() {
  if (scratch_.size() > 1) {
    std::size_t all = 0;
    for (const Block& block : scratch_) all += block.bytes;
    grow_scratch(all);
  }
  scratch_used_ = 0;
}

void* DeviceContext::scratch(std::size_t bytes) {
  bytes = rounded_up(bytes);
  if (scratch_.empty() || scratch_used_ + bytes > scratch_.back().bytes) {
    const std::size_t more =
        std::max(bytes, scratch_.empty() ? least_scratch : scratch_.back().bytes);
    scratch_.push_back({runtime().allocate(more), more});
    scratch_used_ = 0;
  }
  void* const memory = static_cast<std::byte*>(scratch_.back().memory) + scratch_used_;
  scratch_used_ += bytes;
  return memory;
}

void DeviceContext::grow_staging(std::size_t half) {
  half = rounded_up(half);
  if (staging_.bytes >= 2 * half) return;
  if (staging_.memory != nullptr) synchronise();
  for (DeviceEvent& event : read_)
    if (event == nullptr) event = runtime().make_event();
  runtime().free_pinned(staging_.memory);
  staging_ = {};
  staging_ = {runtime().allocate_pinned(2 * half), 2 * half};
  staging_used_ = 0;
  half_ = 0;
}

std::byte* DeviceContext::staging(std::size_t bytes) {
  bytes = rounded_up(bytes);
  if (bytes > staging_.bytes / 2) grow_staging(std::max(bytes, staging_.bytes));
  const std::size_t half = staging_.bytes / 2;
  if (staging_used_ + bytes > half) {
    runtime().record(read_[half_], stream_);
    half_ = 1 - half_;
    runtime().wait(read_[half_]);
    staging_used_ = 0;
  }
  std::byte* const memory =
      static_cast<std::byte*>(staging_.memory) + std::size_t(half_) * half + staging_used_;
  staging_used_ += bytes;
  return memory;
}

const void* DeviceContext::upload(const void* host, std::size_t bytes) {
  void* const device = scratch(bytes);
  if (bytes == 0) return device;
  std::byte* const way = staging(bytes);
  std::memcpy(way, host, bytes);
  runtime().copy_to_device(device, way, bytes, stream_);
  return device;
}

void DeviceContext::grow_results(std::size_t bytes) {
  bytes = rounded_up(bytes);
  if (results_.bytes >= bytes) return;
  if (results_.memory != nullptr) synchronise();
  runtime().free_pinned(results_.memory);
  results_ = {};
  results_ = {runtime().allocate_pinned(bytes), bytes};
}

void DeviceContext::download(void* host, const void* device, std::size_t bytes) {
  grow_results(bytes);
  if (bytes != 0) runtime().copy_to_host(results_.memory, device, bytes, stream_);
  synchronise();
  if (bytes != 0) std::memcpy(host, results_.memory, bytes);
}

}  // namespace cohom::kernels
