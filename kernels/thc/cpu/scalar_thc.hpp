#pragma once
// thc in plain C++: the reference every other instruction set is held to, bit for bit.

#include "kernels/thc/thc.hpp"

namespace cohom::kernels {

const ThcKernels& scalar_thc();

}  // namespace cohom::kernels
