#pragma once
// Sampling signs in plain C++: the reference for every other instruction set.

#include "kernels/sample/sample.hpp"

namespace cohom::kernels {

SampleKernels scalar_sample();

}  // namespace cohom::kernels
