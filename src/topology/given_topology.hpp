#pragma once
// COHOM_TOPOLOGY: which ranks share a node and a switch, where the user knows better, or a test.
//
//   nodes=8x4              8 nodes of 4 ranks: ranks 0 to 3 are on node 0
//   nodes=4,4,1            or node by node; both forms may stand in one list
//   nodes=8x4:switches=2x4 2 switches, with 4 nodes each
//   nodes=8x4:order=cyclic ranks are dealt to the nodes in turn; order=block is the default
//
// Ranks are those of the job, which with MPI are those of MPI_COMM_WORLD.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// This rank in the job, of which a communicator may be a part.
struct JobRank {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
};

struct GivenTopology {
  std::vector<std::uint32_t> node_of_rank;    ///< by rank of the job
  std::vector<std::uint32_t> switch_of_node;  ///< empty: not given
};

/// Longer texts are refused, here and where another rank sends one. Characters.
inline constexpr std::size_t max_topology_text = 4096;

/// @throws Error(invalid_argument) that names the variable, its value and what would be right
GivenTopology parse_topology(std::string_view text);

/// The variable's value, which is right for this job; empty where it is not set.
/// @throws Error(invalid_argument) as parse_topology(), and where it is for more or fewer ranks
std::string topology_of_environment(const JobRank& job);

}  // namespace cohom
