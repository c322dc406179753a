#pragma once
// The kernels that there are for a device.

#include "kernels/table/kernel_table.hpp"

#include <string_view>

namespace cohom::kernels::device {

const KernelTable& table();

/// DeviceLibrary::supports.
bool supports(std::string_view codec);

}  // namespace cohom::kernels::device
