#pragma once
// The host's SketchKernels. They are plain loops: only the placing that a run's workspace calls
// depends on the instruction set.

#include "kernels/sketch/integer_sketch.hpp"

namespace cohom::kernels {

SketchKernels cpu_sketch();

}  // namespace cohom::kernels
