#pragma once
// How many bytes a vector has.

#include <cohom/element_type.hpp>

#include <cstddef>

namespace cohom {

/// @throws Error(invalid_argument) for a number that is no ElementType, and for more elements than
/// can be addressed
std::size_t vector_bytes(std::size_t count, ElementType type);

}  // namespace cohom
