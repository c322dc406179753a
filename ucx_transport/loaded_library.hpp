#pragma once
// Which UCX this process has loaded: an MPI library may bring its own.

#include "aggregation/protocol/ucx_address.hpp"

#include <string>
#include <vector>

namespace cohom::ucx {

/// Files named libucp.so that are part of this process.
std::vector<std::string> loaded_libraries();

/// What may be wrong when UCX does not start: empty unless the library in use is of another major
/// or minor version than the header files that this library was built with, or there are several.
std::string version_note(const offload::UcxVersion& built_with, const offload::UcxVersion& in_use,
                         const std::vector<std::string>& files);

/// The same of this process.
std::string version_note();

}  // namespace cohom::ucx
