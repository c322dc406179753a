#pragma once
// Checks of one call's buffers, before any message.

#include <cohom/error.hpp>

#include <cstddef>
#include <optional>

namespace cohom {

/// What is wrong with them: null pointers with bytes > 0, or an overlap that is not in place.
std::optional<Error> buffer_error(const void* input, const void* output, std::size_t bytes);

}  // namespace cohom
