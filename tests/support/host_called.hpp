#pragma once
// The kernels of a device as if they were those of an instruction set: called with host memory,
// which is copied to the device before, and back after. So what tests instruction sets tests
// devices.

#include "kernels/device_runtime/device_library.hpp"
#include "kernels/table/kernel_table.hpp"

namespace cohom::test {

// One device each, whatever is given later.
const kernels::KernelTable& host_called_emulated(const kernels::DeviceLibrary& library);
const kernels::KernelTable& host_called_cuda(const kernels::DeviceLibrary& library);

}  // namespace cohom::test
