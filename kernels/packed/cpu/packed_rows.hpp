#pragma once
// The packed kernels' reference, and the row for COHOM_ISA=scalar.

#include "kernels/core/isa.hpp"
#include "kernels/packed/packed.hpp"

namespace cohom::kernels {

PackedKernels scalar_packed();

/// Of an instruction set: any supported one but scalar.
PackedKernels highway_packed(Isa isa);

}  // namespace cohom::kernels
