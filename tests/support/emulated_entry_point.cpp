// The emulated device behind the entry point of libcohom_cuda.so, for programs that know nothing of
// it: COHOM_CUDA_LIBRARY names this library.

#include "kernels/device_runtime/emulated/emulated_runtime.hpp"

extern "C" __attribute__((visibility("default"))) const cohom::kernels::DeviceLibrary*
cohom_device_library(const char** why) {
  *why = nullptr;
  return &cohom::kernels::emulated_device();
}
