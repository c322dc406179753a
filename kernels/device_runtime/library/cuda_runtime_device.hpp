#pragma once
// DeviceRuntime by CUDA's runtime library.

#include "kernels/device_runtime/device_runtime.hpp"

namespace cohom::kernels::device {

DeviceRuntime& cuda_device_runtime();

/// Why there is no device to use, or null.
const char* why_no_cuda_device();

}  // namespace cohom::kernels::device
