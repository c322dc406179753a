#pragma once
// The one-bit kernels in plain C++: the reference for every other instruction set.

#include "kernels/core/isa.hpp"
#include "kernels/sign/sign.hpp"

namespace cohom::kernels {

SignKernels scalar_sign();

/// Of an instruction set: any supported one but scalar.
SignKernels highway_sign(Isa isa);

}  // namespace cohom::kernels
