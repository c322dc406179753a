// What stands for the daemon's data plane in builds without UCX.

#include "aggregation/server/daemon_plane.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

std::unique_ptr<DataPlane> make_daemon_plane(const DaemonSetup&) {
  throw Error(ErrorKind::unsupported,
              "this build has no UCX, which words come by; install it with scripts/setup and build "
              "again, or give --ebpf --ports DEVICE,...");
}

}  // namespace cohom::offload
