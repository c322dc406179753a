#pragma once
// The hashing kernels in plain C++: what every instruction set is held to.

#include "kernels/hashing.hpp"

namespace cohom::kernels {

HashingKernels scalar_hashing();

}  // namespace cohom::kernels
