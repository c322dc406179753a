#pragma once
// Sampling signs in plain C++: the reference for every other instruction set.

#include "kernels/core/isa.hpp"
#include "kernels/sample/sample.hpp"

namespace cohom::kernels {

SampleKernels scalar_sample();

/// Of an instruction set: any supported one but scalar.
SampleKernels highway_sample(Isa isa);

}  // namespace cohom::kernels
