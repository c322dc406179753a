#pragma once
// Edits of a kernel's PTX, to see whether tests and checks notice.

#include <cstddef>
#include <string>
#include <string_view>

namespace cohom::ptx {

/// rule: "kernel|from|to" or "kernel|from|to|n". In kernels whose mangled name has `kernel` in it
/// each text `from`, or the n-th alone, becomes `to`. An empty rule changes nothing.
/// @return how many were changed. @throws std::runtime_error for a rule of another form
std::size_t edit(std::string_view rule, std::string_view kernel_name, std::string& text);

}  // namespace cohom::ptx
