// The door of libcohom_cuda.so.

#include "kernels/cuda/current_context.hpp"
#include "kernels/cuda/kernel_list.hpp"
#include "kernels/cuda/library/cuda_runtime_device.hpp"
#include "kernels/cuda/rows.hpp"

extern "C" __attribute__((visibility("default"))) const cohom::kernels::DeviceLibrary*
cohom_device_library(const char** why) {
  using namespace cohom::kernels;
  if (const char* const reason = device::why_no_cuda_device(); reason != nullptr) {
    *why = reason;
    return nullptr;
  }
  static const DeviceLibrary library{device_library_version, &device::cuda_device_runtime(),
                                     &device::table(),       device::supports,
                                     device::load_kernels,   device::enter};
  return &library;
}
