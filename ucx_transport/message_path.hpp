#pragma once
// The data path of messages (docs/offload-protocol.md), to aggregators of kind `daemon`.

#include "aggregation/client/data_path.hpp"

#include <memory>
#include <string>

namespace cohom::ucx {

/// Each session has a worker of its own: when it is over, nothing of it can reach another one.
/// `transports` is as UCX_TLS; empty: what the environment says. @throws Error(transport)
std::unique_ptr<offload::DataPath> make_message_path(const offload::PathSetup& setup,
                                                     const std::string& transports = {});

}  // namespace cohom::ucx
