#pragma once
// The memory of a device, and the host's memory that a device's copies reach by themselves.

#include "kernels/device_runtime/device_context.hpp"
#include "memory/memory.hpp"

#include <memory>

namespace cohom {

/// Works in the stream of `context`, which outlives it. The device must be current.
std::unique_ptr<Memory> make_device_memory(kernels::DeviceContext& context);

/// For the processor as any memory of the host's. `runtime` outlives it.
std::unique_ptr<Memory> make_pinned_memory(kernels::DeviceRuntime& runtime);

}  // namespace cohom
