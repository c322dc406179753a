#pragma once
// What the Highway sources offer to the table of kernels, one row for each compiled target.

#include "kernels/core/isa.hpp"
#include "kernels/table/kernel_table.hpp"

namespace cohom::kernels {

/// merge and finish_elements of a target, as in KernelTable.
struct MergeKernels {
  decltype(KernelTable::merge) merge;
  decltype(KernelTable::finish_elements) finish_elements;
};

// `isa` is any supported one but scalar.
MergeKernels highway_merge(Isa isa);
PackedKernels highway_packed(Isa isa);
SparseKernels highway_sparse(Isa isa);
BloomKernels highway_bloom(Isa isa);
PlacingKernels highway_placing(Isa isa);
SampleKernels highway_sample(Isa isa);
SignKernels highway_sign(Isa isa);
ThcKernels highway_thc(Isa isa);

}  // namespace cohom::kernels
