#pragma once
// Checks of one call's buffers, before any message.

#include <cstddef>

namespace cohom {

/// @throws Error(invalid_argument) for null pointers with bytes > 0 and for buffers that overlap
/// without being equal.
void check_buffers(const void* input, const void* output, std::size_t bytes);

}  // namespace cohom
