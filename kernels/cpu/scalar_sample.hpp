#pragma once
// Sampling signs in plain C++. Draws come in loops that a compiler vectorises; the rest is moving bits.

#include "kernels/sample.hpp"

namespace cohom::kernels {

SampleKernels scalar_sample();

}  // namespace cohom::kernels
