#pragma once
// Sampling signs in plain C++: the reference for every other instruction set.

#include "kernels/sample.hpp"

namespace cohom::kernels {

SampleKernels scalar_sample();

}  // namespace cohom::kernels
