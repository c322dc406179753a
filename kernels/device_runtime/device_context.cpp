#include "kernels/device_runtime/device_context.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::kernels {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t min_scratch = std::size_t{1} << 20;
constexpr std::size_t min_half = std::size_t{64} << 10;

constexpr std::size_t rounded_up(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

DeviceContext::~DeviceContext() {
  try {
    synchronise();
  } catch (const Error&) {  // sticky: whoever used the stream was told
  }
  for (const Block& block : scratch_) runtime().free(block.memory);
  runtime().free_pinned(staging_.memory);
  runtime().free_pinned(results_.memory);
  for (const DeviceEvent event : read_)
    if (event != nullptr) runtime().destroy_event(event);
}

/// A byte for four elements holds the offsets of 32 packed payloads, and the codes of thc's usual
/// blocks many times.
void DeviceContext::reserve(std::size_t elements, std::size_t more_scratch) {
  take_pinned(elements);
  take_scratch(min_scratch + elements / 4 + more_scratch);
}

void DeviceContext::take_scratch(std::size_t bytes) {
  bytes = rounded_up(bytes);
  scratch_.reserve(scratch_.size() + 1);
  scratch_.push_back({runtime().allocate(bytes), bytes});
  scratch_used_ = 0;
}

void DeviceContext::begin_call() { scratch_used_ = 0; }

/// More than all before, so that there are few, however slowly needs grow.
void* DeviceContext::scratch(std::size_t bytes) {
  bytes = rounded_up(bytes);
  if (scratch_.empty() || scratch_used_ + bytes > scratch_.back().bytes) {
    std::size_t all = bytes;
    for (const Block& block : scratch_) all += block.bytes;
    take_scratch(std::max(all, min_scratch));
  }
  void* const memory = static_cast<std::byte*>(scratch_.back().memory) + scratch_used_;
  scratch_used_ += bytes;
  return memory;
}

void DeviceContext::take_pinned(std::size_t elements) {
  for (DeviceEvent& event : read_)
    if (event == nullptr) event = runtime().make_event();
  const std::size_t half = rounded_up(min_half + elements / 64);
  if (staging_.memory == nullptr) staging_ = {runtime().allocate_pinned(2 * half), 2 * half};
  const std::size_t results = rounded_up(min_half + elements / 16);
  if (results_.memory == nullptr) results_ = {runtime().allocate_pinned(results), results};
}

/// At most half of it.
std::byte* DeviceContext::staging(std::size_t bytes) {
  bytes = rounded_up(bytes);
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
  auto* const device = static_cast<std::byte*>(scratch(bytes));
  if (results_.memory == nullptr) take_pinned(0);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(bytes - done, staging_.bytes / 2);
    std::byte* const way = staging(now);
    std::memcpy(way, static_cast<const std::byte*>(host) + done, now);
    runtime().copy_to_device(device + done, way, now, stream_);
    done += now;
  }
  return device;
}

void DeviceContext::download(void* host, const void* device, std::size_t bytes) {
  if (results_.memory == nullptr) take_pinned(0);
  if (bytes == 0) synchronise();
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(bytes - done, results_.bytes);
    runtime().copy_to_host(results_.memory, static_cast<const std::byte*>(device) + done, now,
                           stream_);
    synchronise();
    std::memcpy(static_cast<std::byte*>(host) + done, results_.memory, now);
    done += now;
  }
}

}  // namespace cohom::kernels
