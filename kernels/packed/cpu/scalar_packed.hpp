#pragma once
// The packed kernels' reference, and the row for COHOM_ISA=scalar.

#include "kernels/packed/packed.hpp"

namespace cohom::kernels {

PackedKernels scalar_packed();

}  // namespace cohom::kernels
