#pragma once
// Errors of CUDA as exceptions.

#include "kernels/device_runtime/device_runtime.hpp"

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

namespace cohom::kernels::device {

/// @throws DeviceError naming the call, where it stands, and what CUDA says; does nothing for
/// cudaSuccess
void check_cuda(cudaError_t result, const char* call,
                std::source_location where = std::source_location::current());

/// versions_text() of this machine.
std::string cuda_versions();

inline cudaStream_t cuda_stream(DeviceStream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}
inline cudaEvent_t cuda_event(DeviceEvent event) { return reinterpret_cast<cudaEvent_t>(event); }

}  // namespace cohom::kernels::device
