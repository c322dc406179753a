#pragma once
// The kernels of all bodies for the host's instruction sets.

#include "kernels/core/isa.hpp"
#include "kernels/table/block_bodies.hpp"

namespace cohom::kernels {

BlockRows scalar_block_rows();

/// Of an instruction set: any supported one but scalar.
BlockRows vector_block_rows(Isa isa);

}  // namespace cohom::kernels
