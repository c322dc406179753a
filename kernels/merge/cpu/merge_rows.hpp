#pragma once
// Merging and finishing in plain C++: the reference for the functions of the same name in
// KernelTable, which says what they do.

#include "kernels/core/isa.hpp"
#include "kernels/merge/widening.hpp"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

void scalar_merge(Merge merge, const void* const* sources, std::size_t source_count,
                  std::size_t bytes, void* destination);

void scalar_finish_elements(ElementType type, const void* source, std::size_t elements,
                            std::uint64_t divisor, void* destination);

void scalar_widen(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
                  unsigned width, std::uint64_t* sum);

/// The functions of these names of one instruction set.
struct MergeKernels {
  void (*merge)(Merge merge, const void* const* sources, std::size_t source_count,
                std::size_t bytes, void* destination);
  void (*finish_elements)(ElementType type, const void* source, std::size_t elements,
                          std::uint64_t divisor, void* destination);
  void (*widen)(const LaneBlocks& run, const LaneSource* sources, std::size_t source_count,
                unsigned width, std::uint64_t* sum);
};

/// Of an instruction set: any supported one but scalar.
MergeKernels highway_merge(Isa isa);

}  // namespace cohom::kernels
