#pragma once
// A stream of a device, without the device's own headers.

#include <cohom/cxx20.hpp>

namespace cohom {

/// As the device's library calls it: a cudaStream_t, where null is the default stream.
/// <cohom/cuda.hpp> takes one as it is.
struct DeviceStream {
  void* handle = nullptr;
};

}  // namespace cohom
