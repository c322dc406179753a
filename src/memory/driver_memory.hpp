#pragma once
// Asking the driver of a device, where the process has one, without the library that has kernels.

namespace cohom {

/// Whether the process has loaded a driver. Any thread.
bool driver_is_loaded();

/// Whether the driver knows the address: memory of a device, managed, or pinned. False, in a tenth
/// of a microsecond, where the process has loaded no driver; loads none. Any thread.
bool driver_knows(const void* address);

}  // namespace cohom
