// The entry point of libcohom_cuda.so.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/kernel_list.hpp"
#include "kernels/device_runtime/library/cuda_runtime_device.hpp"
#include "kernels/table/device_table.hpp"

#include <algorithm>
#include <string>

namespace {

/// What CMake says where not all architectures are plain numbers; else nvcc's own list, of the PTX
/// from which everything else is made.
const char* code() {
#if defined(COHOM_CUDA_CODE)
  return COHOM_CUDA_CODE;
#else
  constexpr int architectures[] = {__CUDA_ARCH_LIST__};  // 800 is compute_80
  static const std::string text =
      "compute_" + std::to_string(*std::ranges::min_element(architectures) / 10);
  return text.c_str();
#endif
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const cohom::kernels::DeviceLibrary*
cohom_device_library(const char** why) {
  using namespace cohom::kernels;
  if (const char* const reason = device::why_no_cuda_device(); reason != nullptr) {
    *why = reason;
    return nullptr;
  }
  static const DeviceLibrary library{
      device_library_version, &device::cuda_device_runtime(), code(),
      &device::table(),       device::load_kernels,           device::enter};
  return &library;
}
