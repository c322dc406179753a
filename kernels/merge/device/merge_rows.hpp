#pragma once
// merge and finish_elements of a device's KernelTable.

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

void merge(Merge merge, const void* const* sources, std::size_t source_count, std::size_t bytes,
           void* destination);
void finish_elements(ElementType type, const void* source, std::size_t elements,
                     std::uint64_t divisor, void* destination);

}  // namespace cohom::kernels::device
