#pragma once
// cohom over UCX (https://openucx.org): shared memory, TCP, and what fast networks offer.

#include <cohom/cxx20.hpp>

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cohom::ucx {

using cohom::Exchange;

/// A transport between `ranks` ranks, this one being `rank`. Calls `exchange` twice, and keeps
/// nothing of it. Processes join the network at their first transport and leave it when they end;
/// transports share connections, and may be used by different threads. Collective.
///
/// UCX chooses the path to each peer; UCX_TLS, UCX_NET_DEVICES and all other variables of UCX hold,
/// with the prefix COHOM_UCX_ for this library alone. TCP carries messages of any size without
/// waiting for their receiver; other paths do so up to what UCX thinks best, then receivers read
/// from the sender's memory where they can.
/// @throws Error on all ranks alike: transport when UCX cannot start on one of them,
/// invalid_argument or mismatch for a COHOM_MESSAGE_BYTES that is wrong or differs.
std::shared_ptr<Transport> transport(int rank, int ranks, const Exchange& exchange);

/// cohom::aggregator_connector() that also reaches aggregators of kind `daemon`, whose words travel
/// in active messages. Each connection has a UCX worker of its own.
ConnectAggregator aggregator_connector(const JobSecret& job, int rank, int ranks);

/// Of the library in use, e.g. "1.13.1".
std::string version();

/// A way to move messages that UCX has on this machine.
struct Resource {
  std::string transport;  ///< e.g. "tcp"
  std::string device;     ///< e.g. "eth0"
};

/// All of them, wanted by UCX_TLS or not. @throws Error(transport)
std::vector<Resource> resources();

}  // namespace cohom::ucx
