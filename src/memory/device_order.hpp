#pragma once
// What a call with a device's buffers comes behind.

#include "kernels/device_runtime/device_runtime.hpp"
#include "memory/placement.hpp"

#include <optional>

namespace cohom {

/// Before anything is taken or touched for a call. Without a stream it waits for all that the
/// device has to do; behind a user's one it does not. Nothing to do for buffers of the host.
/// @throws Error(invalid_argument) for a stream that buffers of the host do not know, for one of
/// another device, and where a graph is captured: into the stream, or by the thread;
/// kernels::DeviceError
void expect_order(const Placement& placement, std::optional<kernels::DeviceStream> stream);

}  // namespace cohom
