#pragma once
// The data path of packets (docs/offload-protocol.md), to aggregators of kind `ebpf`.

#include "aggregation/client/data_path.hpp"

#include <memory>

namespace cohom::offload {

/// @throws Error(transport)
std::unique_ptr<DataPath> make_packet_path(const PathSetup& setup);

}  // namespace cohom::offload
