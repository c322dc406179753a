#pragma once
// The data plane of a process: it sums words that come in UCX's active messages.

#include "aggregation/server/data_plane.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace cohom::offload {

struct DaemonSetup {
  std::uint32_t slots = 1024;
  std::uint32_t groups = 64;
  std::uint32_t payload_bytes = 56 << 10;  ///< of words in a message
  std::string transports = {};             ///< as UCX_TLS; empty: what the environment says
  std::string devices = {};                ///< as UCX_NET_DEVICES; likewise
};

/// Serves in a thread of its own, which sleeps while nothing comes.
/// @throws Error(unsupported) in builds without UCX, Error(transport) when UCX cannot start.
std::unique_ptr<DataPlane> make_daemon_plane(const DaemonSetup& setup);

}  // namespace cohom::offload
