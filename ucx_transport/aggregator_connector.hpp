#pragma once
// Connecting to aggregators, daemons among them.

#include <cohom/offload.hpp>

#include <string>

namespace cohom::ucx {

/// As ucx::aggregator_connector(), with a token; an empty one is the environment's.
ConnectAggregator connector(const JobSecret& job, int rank, int ranks, const std::string& token);

}  // namespace cohom::ucx
