#pragma once
// aggregator_connector(), and what it does not let everybody choose.

#include "aggregation/client/control_client.hpp"

#include <cohom/offload.hpp>

namespace cohom::offload {

/// As cohom::aggregator_connector(). An empty token is the environment's.
ConnectAggregator connector(const JobSecret& job, int rank, int ranks,
                            const ClientOptions& options);

}  // namespace cohom::offload
