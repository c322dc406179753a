#pragma once
// The rows of a device's kernel table.

#include "kernels/table/kernel_table.hpp"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohom::kernels::device {

const KernelTable& table();

/// DeviceLibrary::supports.
bool supports(std::string_view codec);

void merge(Merge merge, const void* const* sources, std::size_t source_count, std::size_t bytes,
           void* destination);
void finish_elements(ElementType type, const void* source, std::size_t elements,
                     std::uint64_t divisor, void* destination);
ThcKernels thc_row();
PackedKernels packed_row();
SparseKernels sparse_row();
SignKernels sign_row();
SampleKernels sample_row();
BloomKernels bloom_row();
SketchKernels sketch_row();

}  // namespace cohom::kernels::device
