#pragma once
// What one asks an aggregator without being a worker.

#include <netinet/in.h>

#include <string>

namespace cohom::offload {

/// The aggregator's status as JSON. Blocks for at most some seconds.
/// @throws Error(transport) when it does not answer, or refuses.
std::string query_status(const sockaddr_in& address, const std::string& token);

}  // namespace cohom::offload
