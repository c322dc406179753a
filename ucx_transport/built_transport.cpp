// What the registry of transports is given of UCX.

#include "transport/registry.hpp"
#include "ucx_transport/aggregator_connector.hpp"
#include "ucx_transport/transport.hpp"

namespace cohom::ucx {

namespace {

std::shared_ptr<Transport> join(int rank, int ranks, const Exchange& exchange, const JobRank& job) {
  return std::make_shared<UcxTransport>(Worker::of_process, rank, ranks, exchange, job);
}

}  // namespace

const BuiltTransport& built_transport() {
  static constexpr BuiltTransport built{
      .name = "ucx", .join = join, .aggregator_connector = connector};
  return built;
}

}  // namespace cohom::ucx
