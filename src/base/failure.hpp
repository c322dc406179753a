#pragma once
// What a rank tells the others of an exception that it caught.

#include <cohom/error.hpp>

#include <string>

namespace cohom {

/// The exception being handled as an Error; one that is none says what the rank was `doing`.
/// Call it in a catch block.
Error current_failure(const std::string& doing);

}  // namespace cohom
