#pragma once
// The exact kernels' reference, and the row for COHOM_ISA=scalar.

#include "kernels/core/isa.hpp"
#include "kernels/exact/exact.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

ExactKernels scalar_exact();

/// Of an instruction set: any supported one but scalar.
ExactKernels highway_exact(Isa isa);

}  // namespace cohom::kernels
