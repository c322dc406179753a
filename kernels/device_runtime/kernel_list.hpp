#pragma once
// All kernels of the library, to be loaded before a call needs them: a driver that loads each when
// it is first launched may wait then for all that the device has to do.

namespace cohom::kernels::device {

/// Brings a kernel to the current device; does nothing where it is.
using LoadKernel = void (*)();

/// Before main() runs or the library is opened. Returns true.
bool list_kernel(LoadKernel load);

/// DeviceLibrary::load.
void load_kernels();

}  // namespace cohom::kernels::device
