#include "kernels/device_runtime/library/cuda_error.hpp"

#include "kernels/device_runtime/library/cuda_versions.hpp"

#include <string>
#include <string_view>

namespace cohom::kernels::device {
namespace {

/// Errors after which every call of the process on the device fails.
bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorAssert: return true;
    default: return false;
  }
}

ErrorKind kind_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return ErrorKind::memory;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit: return ErrorKind::unsupported;
    default: return ErrorKind::transport;
  }
}

/// Whether a driver of another version might do it.
bool depends_on_driver(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction: return true;
    default: return false;
  }
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string cuda_versions() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return versions_text(driver, CUDART_VERSION);
}

void check_cuda(cudaError_t result, const char* call, std::source_location where) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // the next call is not blamed for this one
  const bool sticky = is_sticky(result);
  throw DeviceError(kind_of(result),
                    std::string(call) + " (" + std::string(file_name(where.file_name())) + ":" +
                        std::to_string(where.line()) + "): " + cudaGetErrorName(result) + ", " +
                        cudaGetErrorString(result) +
                        (depends_on_driver(result) ? "; " + cuda_versions() : "") +
                        (sticky ? "; the device cannot be used by this process any more" : ""),
                    sticky);
}

}  // namespace cohom::kernels::device
