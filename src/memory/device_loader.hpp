#pragma once
// The library with kernels for a device, in a file of its own: programs without one need no driver.

#include "kernels/device_runtime/device_library.hpp"

#include <string>

namespace cohom {

/// Null where there is none. Loads it at the first use: from COHOM_CUDA_LIBRARY, from where this
/// library lies, or from where the system looks. Any thread.
const kernels::DeviceLibrary* device_library();

/// The one in use so far; loads nothing.
const kernels::DeviceLibrary* loaded_device_library();

/// Why there is none, in words.
std::string why_no_device();

/// For tests: as at the start of a process that then finds this one.
void offer_device_library(const kernels::DeviceLibrary* library);

/// For tests: takes this one from now on; null: there is none, for the reason `why`.
void set_device_library(const kernels::DeviceLibrary* library, const std::string& why = {});

}  // namespace cohom
