// Connecting to aggregators, daemons among them.

#include "aggregation/client/connector.hpp"
#include "ucx_transport/message_path.hpp"

#include <cohom/ucx.hpp>

namespace cohom::ucx {

ConnectAggregator aggregator_connector(const JobSecret& job, int rank, int ranks) {
  return offload::connector(job, rank, ranks,
                            {.token = {}, .messages = [](const offload::PathSetup& setup) {
                               return make_message_path(setup);
                             }});
}

}  // namespace cohom::ucx
