#pragma once
// Checks of one call's arguments, before any message.

#include <cohom/error.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace cohom {

/// What is wrong with them: null pointers with bytes > 0, or an overlap that is not in place.
std::optional<Error> buffer_error(const void* input, const void* output, std::size_t bytes);

/// The codec of a call to which this rank brings vectors that it added up, where the user asks for
/// `codec` (empty: for none). @throws Error(invalid_argument) for one that takes one vector a rank
std::string codec_of_many_vectors(const std::string& codec);

}  // namespace cohom
