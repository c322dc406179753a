#pragma once
// The kernels that there are for a device.

#include "kernels/table/kernel_table.hpp"

namespace cohom::kernels::device {

const KernelTable& table();

}  // namespace cohom::kernels::device
