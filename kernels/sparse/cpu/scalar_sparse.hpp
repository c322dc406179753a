#pragma once
// The sparse kernels in plain C++: what every instruction set is held to.

#include "kernels/sparse/sparse.hpp"

namespace cohom::kernels {

SparseKernels scalar_sparse();

}  // namespace cohom::kernels
