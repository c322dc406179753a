#pragma once
// The kernels of Bloom filters in plain C++: what every instruction set is held to.

#include "kernels/sparse/bloom.hpp"

namespace cohom::kernels {

BloomKernels scalar_bloom();

}  // namespace cohom::kernels
