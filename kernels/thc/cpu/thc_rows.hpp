#pragma once
// thc in plain C++: the reference every other instruction set is held to, bit for bit.

#include "kernels/core/isa.hpp"
#include "kernels/thc/thc.hpp"

namespace cohom::kernels {

const ThcKernels& scalar_thc();

/// Of an instruction set: any supported one but scalar.
ThcKernels highway_thc(Isa isa);

}  // namespace cohom::kernels
