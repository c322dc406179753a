#pragma once
// The one-bit kernels in plain C++: the reference for every other instruction set.

#include "kernels/sign/sign.hpp"

namespace cohom::kernels {

SignKernels scalar_sign();

}  // namespace cohom::kernels
