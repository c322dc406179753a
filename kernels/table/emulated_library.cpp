// The emulated device's entry point.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/emulated/emulated_runtime.hpp"
#include "kernels/device_runtime/kernel_list.hpp"
#include "kernels/table/device_table.hpp"

namespace cohom::kernels {

const DeviceLibrary& emulated_device() {
  static const DeviceLibrary library{device_library_version, &device::emulated_device_runtime(),
                                     "compute_80",           &device::table(),
                                     device::load_kernels,   device::enter};
  return library;
}

}  // namespace cohom::kernels
