#pragma once
// How the ranks of a node come to have each other's windows.

#include <cohom/transport.hpp>

#include <memory>

namespace cohom {

/// The transport with node windows, where its topology has nodes with several ranks, and all ranks
/// of this one can read each other's windows; else the transport itself, and the log says why.
/// COHOM_NODE_MEMORY=off on a rank is a reason. Collective, and blocks.
/// @throws Error(invalid_argument), on all ranks, for a COHOM_NODE_MEMORY that is neither on nor
/// off
std::shared_ptr<Transport> with_node_windows(std::shared_ptr<Transport> transport,
                                             const Exchange& exchange);

}  // namespace cohom
