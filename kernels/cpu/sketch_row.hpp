#pragma once
// Sketches of integers on a processor, of any instruction set: hashing alone, which the workspace of a run
// calls, is a matter of that.

#include "kernels/integer_sketch.hpp"

namespace cohom::kernels {

SketchKernels cpu_sketch();

}  // namespace cohom::kernels
