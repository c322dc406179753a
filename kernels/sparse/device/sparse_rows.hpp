#pragma once
// The rows of sparse.cpp and bloom.cpp.

#include "kernels/sparse/bloom.hpp"
#include "kernels/sparse/sparse.hpp"

namespace cohom::kernels::device {

SparseKernels sparse_row();
BloomKernels bloom_row();

}  // namespace cohom::kernels::device
