#pragma once
// The sparse kernels in plain C++: what every instruction set is held to.

#include "kernels/core/isa.hpp"
#include "kernels/sparse/sparse.hpp"

namespace cohom::kernels {

SparseKernels scalar_sparse();

/// Of an instruction set: any supported one but scalar.
SparseKernels highway_sparse(Isa isa);

}  // namespace cohom::kernels
