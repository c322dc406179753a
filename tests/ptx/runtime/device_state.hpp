#pragma once
// What all calls of the runtime share: one lock, and errors.

#include <cuda_runtime_api.h>

#include <mutex>

namespace cohom::ptx {

/// Held by each call that touches the device; work that goes on by itself does so at its beginning.
class DeviceLock {
 public:
  DeviceLock();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// What a call returns: its own error, or that of a device that is broken. cudaGetLastError() tells
/// it.
cudaError_t told(cudaError_t error);
/// The last error of the thread's calls, which is forgotten.
cudaError_t take_last_error();

/// From now on all calls fail, and no work is done.
void break_device(cudaError_t error);
bool is_broken();

}  // namespace cohom::ptx
