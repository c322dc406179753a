#pragma once
// The placing kernels in plain C++: what every instruction set is held to.

#include "kernels/core/isa.hpp"
#include "kernels/sketch/placing.hpp"

namespace cohom::kernels {

PlacingKernels scalar_placing();

/// Of an instruction set: any supported one but scalar.
PlacingKernels highway_placing(Isa isa);

}  // namespace cohom::kernels
