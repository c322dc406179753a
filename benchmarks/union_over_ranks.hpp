#pragma once
// The UnionShape of the vectors that the ranks of a communicator hold.

#include "codecs/common/index/union_shape.hpp"
#include "element_values.hpp"

#include <mpi.h>

namespace cohom::bench {

/// Collective. Zero is what has no bits: -0.0 is a value.
UnionShape union_over_ranks(const Elements& vector, MPI_Comm comm);

}  // namespace cohom::bench
