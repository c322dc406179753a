#pragma once
// Which network device of this host has an address.

#include <netinet/in.h>

#include <string>

namespace cohom::offload {

/// Its name, as in `ip link`; empty: no device has it (or it is 0.0.0.0, which is all of them).
/// @throws Error(transport) when the system does not tell.
std::string device_of(const sockaddr_in& address);

}  // namespace cohom::offload
