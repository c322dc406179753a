#include "ucx_transport/aggregator_connector.hpp"

#include "aggregation/client/connector.hpp"
#include "ucx_transport/message_path.hpp"

#include <cohom/ucx.hpp>

namespace cohom::ucx {

ConnectAggregator connector(const JobSecret& job, int rank, int ranks, const std::string& token) {
  return offload::connector(job, rank, ranks,
                            {.token = token, .messages = [](const offload::PathSetup& setup) {
                               return make_message_path(setup);
                             }});
}

ConnectAggregator aggregator_connector(const JobSecret& job, int rank, int ranks) {
  return connector(job, rank, ranks, {});
}

}  // namespace cohom::ucx
