#pragma once
// What the Highway sources offer to the table of kernels, one row for each compiled target.

#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"

namespace cohom::kernels {

/// merge and finish_elements of a target, as in KernelTable.
struct MergeKernels {
  decltype(KernelTable::merge) merge;
  decltype(KernelTable::finish_elements) finish_elements;
};

/// measure, widen and decode of a target, as in ThcKernels; encode is compiled by itself.
struct ThcOtherKernels {
  decltype(ThcKernels::measure) measure;
  decltype(ThcKernels::widen) widen;
  decltype(ThcKernels::decode) decode;
};

// `isa` is any supported one but scalar.
MergeKernels highway_merge(Isa isa);
decltype(ThcKernels::encode) highway_thc_encode(Isa isa);
ThcOtherKernels highway_thc_other(Isa isa);

}  // namespace cohom::kernels
