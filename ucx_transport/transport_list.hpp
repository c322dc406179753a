#pragma once
// UCX_TLS: which of UCX's transports may be used.

#include <string_view>

namespace cohom::ucx {

/// Whether a list such as "tcp,sm" or "^posix" allows the transport; an empty one allows all.
bool allows(std::string_view list, std::string_view transport);

}  // namespace cohom::ucx
