#pragma once
// This machine, and where the ranks of a job are, drawn as text.

#include "topology/machine.hpp"
#include "topology/thread_set.hpp"

#include <cohom/topology.hpp>

#include <optional>
#include <span>
#include <string>

namespace cohom::bench {

/// Packages, NUMA domains, cores and devices of a machine, for a process that may run on `own`.
/// Devices: none where nobody knows them.
std::string machine_topology_text(const Machine& machine, const ThreadSet& own,
                                  const std::optional<Devices>& devices);
/// Of this machine and process.
std::string machine_topology_text();

/// Of a rank, one line without its end: "cores 0-3, of which 2-3 alone".
std::string cores_text(std::span<const UsableCore> cores);

/// Nodes with their ranks, several lines. `cores`: cores_text() of each rank, by rank.
std::string ranks_text(const Topology& topology, std::span<const std::string> cores);

}  // namespace cohom::bench
