#pragma once
// The calling thread's context, as the kernels of this library see it.

#include "kernels/device_runtime/device_context.hpp"

namespace cohom::kernels::device {

/// @throws Error(state) outside of a DeviceScope
DeviceContext& current_context();

/// current_context() with the scratch of earlier calls given back: how a call of a kernel row
/// begins.
DeviceContext& begin_call();

/// DeviceLibrary::enter.
DeviceContext* enter(DeviceContext* context);

}  // namespace cohom::kernels::device
