#pragma once
// The kernels of Bloom filters in plain C++: what every instruction set is held to.

#include "kernels/core/isa.hpp"
#include "kernels/sparse/bloom.hpp"

namespace cohom::kernels {

BloomKernels scalar_bloom();

/// Of an instruction set: any supported one but scalar.
BloomKernels highway_bloom(Isa isa);

}  // namespace cohom::kernels
