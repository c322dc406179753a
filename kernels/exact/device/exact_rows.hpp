#pragma once
// The row of exact.cpp.

#include "kernels/exact/exact.hpp"

namespace cohom::kernels::device {

ExactKernels exact_row();

}  // namespace cohom::kernels::device
