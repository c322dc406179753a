#include "aggregator_kind.hpp"

#include "host_plane.hpp"

#if COHOM_HAVE_UCX
#include "aggregation/server/daemon_plane.hpp"
#include "ucx_transport/message_path.hpp"
#endif

namespace cohom::test {

std::vector<AggregatorKind> aggregator_kinds() {
  std::vector<AggregatorKind> kinds{{"packets",
                                     [](std::uint32_t slots, std::uint32_t groups) {
                                       return make_host_plane({.slots = slots, .groups = groups});
                                     },
                                     {}}};
#if COHOM_HAVE_UCX
  for (const std::string transports : {"tcp", "posix"})
    kinds.push_back({"daemon_" + transports,
                     [transports](std::uint32_t slots, std::uint32_t groups) {
                       return offload::make_daemon_plane({.slots = slots,
                                                          .groups = groups,
                                                          .payload_bytes = 4096,
                                                          .transports = transports + ",self"});
                     },
                     [transports](const offload::PathSetup& setup) {
                       return ucx::make_message_path(setup, transports + ",self");
                     }});
#endif
  return kinds;
}

}  // namespace cohom::test
