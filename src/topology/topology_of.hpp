#pragma once
// What the places of all ranks come to: a communicator's Topology.

#include "topology/machine.hpp"
#include "topology/rank_place.hpp"

#include <cohom/topology.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom {

/// Of the places of all ranks, by rank, alike on all ranks; `rank` is this one, on `machine`.
/// @throws Error(mismatch) where COHOM_TOPOLOGY differs, Error(transport) for a rank that the job
/// does not have: both on all ranks alike
Topology topology_of(std::span<const RankPlace> by_rank, std::size_t rank, const Machine& machine);

/// The same of what the ranks told (to_bytes()) and of this machine. Rank 0 says in the log what
/// came out. @throws Error as topology_of() and rank_place_of() do
std::shared_ptr<const Topology> topology_of_told(std::span<const std::vector<std::byte>> by_rank,
                                                 std::size_t rank);

/// Where nobody told anything: every rank is a node of its own.
Topology topology_of_strangers(std::size_t ranks);

/// For people: "8 ranks on 2 nodes, 1 switch".
std::string summary(const Topology& topology);

}  // namespace cohom
