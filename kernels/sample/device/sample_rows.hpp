#pragma once
// The row of sample.cpp.

#include "kernels/sample/sample.hpp"

namespace cohom::kernels::device {

SampleKernels sample_row();

}  // namespace cohom::kernels::device
