#pragma once
// RankPlace: what a rank tells the others of where it runs while their transport is made.

#include "topology/given_topology.hpp"
#include "topology/machine.hpp"
#include "topology/thread_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohom {

struct RankPlace {
  std::uint64_t node = 0;            ///< equal on the ranks of one node alone
  std::uint64_t network_switch = 0;  ///< equal on those of one switch alone; 0: not known
  /// Which one of its node has all its hardware threads; Core::unknown: none.
  std::uint32_t numa_domain = Core::unknown;
  JobRank job = {};
  ThreadSet threads = {};  ///< hardware threads that it may run on; empty: not known
  std::string given = {};  ///< COHOM_TOPOLOGY; empty: it is not set
};

std::vector<std::byte> to_bytes(const RankPlace& place);
/// `rank`: who sent them. @throws Error(transport) for bytes that are none: those of another
/// version, too many, or too few
RankPlace rank_place_of(std::span<const std::byte> bytes, std::size_t rank);

/// This rank's. `node`: as RankPlace has it.
/// @throws Error(invalid_argument) for a COHOM_TOPOLOGY that is wrong
RankPlace own_place(const JobRank& job, std::uint64_t node);

}  // namespace cohom
