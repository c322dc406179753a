#pragma once
// merge, finish_elements and widen of a device's KernelTable.

#include "kernels/merge/widening.hpp"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

void merge(Merge merge, const void* const* sources, std::size_t source_count, std::size_t bytes,
           void* destination);
void finish_elements(ElementType type, const void* source, std::size_t elements,
                     std::uint64_t divisor, void* destination);
void widen(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
           unsigned width, std::uint64_t* sum);

}  // namespace cohom::kernels::device
