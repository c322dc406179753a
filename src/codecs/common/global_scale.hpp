#pragma once
// scale=global of thc: one scale for the whole vector, made from the norm codes of its blocks
// (docs/wire-format.md, "Norm code").

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// Code of the root mean square of a vector of `elements` elements, given its blocks' norm codes in
/// block order; an outlier when any block is.
std::uint32_t global_code(ElementType type, std::span<const std::uint32_t> block_codes,
                          std::size_t elements);

/// Whether a block with this norm code has at least twice the norm that the global code gives a
/// block of `padded` elements, so that much of it is clipped.
bool clipped_by_global(ElementType type, std::uint32_t block_code, std::uint32_t code,
                       std::size_t padded);

/// Norm code that a block of `padded` elements takes from the agreed global one.
std::uint32_t block_code_of_global(ElementType type, std::uint32_t code, std::size_t padded);

}  // namespace cohom
