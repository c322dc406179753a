#pragma once
// Topology: which ranks of a communicator are near each other, and which cores a rank has.

#include <cohom/cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cohom {

/// The ranks of a communicator in groups that do not overlap. Groups are numbered 0, 1, ... in the
/// order of their lowest ranks.
struct RankGroups {
  /// The number of a rank that is in no group.
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::uint32_t> of_rank = {};  ///< by rank; empty: nobody knows
  std::uint32_t count = 0;                  ///< of groups

  [[nodiscard]] bool known() const { return !of_rank.empty(); }
  /// Those of one group, in ascending order.
  [[nodiscard]] std::vector<int> ranks_of(std::uint32_t group) const {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
      if (of_rank[rank] == group) ranks.push_back(static_cast<int>(rank));
    return ranks;
  }
};

/// A core that a rank may run on: it is bound to one of its hardware threads, or bound to nothing.
struct UsableCore {
  std::uint32_t number = 0;  ///< hwloc's logical one; without hwloc that of its hardware thread
  std::uint32_t numa_domain = RankGroups::none;  ///< as the system numbers them; none: not known
  std::vector<std::uint32_t> threads = {};       ///< hardware threads that the rank may run on
  /// No other rank of the job may run on any hardware thread of it. Known where all of them are in
  /// the communicator; false where some are not.
  bool alone = false;
};

/// What a communicator knows of its ranks. The groups are the same on all ranks.
struct Topology {
  /// Ranks whose processes can share memory. All ranks are in one.
  RankGroups nodes = {};
  /// Ranks that are bound to one NUMA domain, of one node. A rank that is not, is in no group.
  RankGroups numa_domains = {};
  /// Ranks whose nodes are connected to one switch of the network, by the job manager. A node is
  /// at one switch.
  RankGroups switches = {};
  /// Of this rank, in ascending order. Empty: nobody knows.
  std::vector<UsableCore> cores = {};
};

}  // namespace cohom
