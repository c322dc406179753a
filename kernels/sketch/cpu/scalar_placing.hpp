#pragma once
// The placing kernels in plain C++: what every instruction set is held to.

#include "kernels/sketch/placing.hpp"

namespace cohom::kernels {

PlacingKernels scalar_placing();

}  // namespace cohom::kernels
