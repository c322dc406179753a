// Questions about the device, as CUDA's runtime answers them.

#include "device_state.hpp"
#include "loaded_kernels.hpp"
#include "ptx/settings.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace cohom::ptx {
namespace {

struct Text {
  cudaError_t error;
  const char* name;
  const char* words;
};
/// Those that calls of this runtime return.
constexpr std::array texts = {
    Text{cudaSuccess, "cudaSuccess", "no error"},
    Text{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Text{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Text{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
         "invalid configuration argument"},
    Text{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
         "invalid device function"},
    Text{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Text{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
         "invalid resource handle"},
    Text{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    Text{cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
         "an illegal memory access was encountered"},
    Text{cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"}};

Text text_of(cudaError_t error) {
  const auto* const found = std::ranges::find(texts, error, &Text::error);
  return found != texts.end() ? *found : Text{error, "cudaErrorUnknown", "unknown error"};
}

}  // namespace
}  // namespace cohom::ptx

using cohom::ptx::LoadedKernels;
using cohom::ptx::Settings;
using cohom::ptx::told;

extern "C" {

cudaError_t cudaGetLastError() { return cohom::ptx::take_last_error(); }
const char* cudaGetErrorName(cudaError_t error) { return cohom::ptx::text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return cohom::ptx::text_of(error).words; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return told(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return told(cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
  return told(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return told(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "PTX interpreter");
  const int architecture = static_cast<int>(LoadedKernels::instance().architecture());
  properties->major = architecture / 10;
  properties->minor = architecture % 10;
  properties->multiProcessorCount = Settings::instance().processors;
  return told(cudaSuccess);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const int architecture = static_cast<int>(LoadedKernels::instance().architecture());
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = Settings::instance().processors; break;
    case cudaDevAttrComputeCapabilityMajor: *value = architecture / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = architecture % 10; break;
    default: return told(cudaErrorInvalidValue);
  }
  return told(cudaSuccess);
}
/// Kernels are here as soon as the library is; of what they take nothing is known.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host_function) {
  *attributes = {};
  return told(LoadedKernels::instance().contains(host_function) ? cudaSuccess
                                                                : cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 1;
  return told(cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   size_t, unsigned) {
  *blocks = 1;
  return told(cudaSuccess);
}

}  // extern "C"
