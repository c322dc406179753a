#pragma once
// Which devices the kernels of a library run on.

#include "kernels/device_runtime/device_library.hpp"

#include <string_view>

namespace cohom {

/// `code`: as DeviceLibrary::code.
bool runs_on(std::string_view code, kernels::ComputeCapability device);

/// @throws Error(unsupported) when none of the library's code runs on the device
void expect_code(const kernels::DeviceLibrary& library, int device);

}  // namespace cohom
