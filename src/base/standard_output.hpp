#pragma once
// Standard output of programs: whether what they print has been written.

namespace cohom {

/// What was printed by C++ or by C is written, or an error: call it at the end.
/// @throws std::runtime_error
void flush_standard_output();

}  // namespace cohom
