// What the registry of transports is given of UCX.

#include "transport/registry.hpp"
#include "ucx_transport/aggregator_connector.hpp"

#include <cohom/ucx.hpp>

namespace cohom::ucx {

const BuiltTransport& built_transport() {
  static constexpr BuiltTransport built{
      .name = "ucx", .join = transport, .aggregator_connector = connector};
  return built;
}

}  // namespace cohom::ucx
