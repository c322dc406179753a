#pragma once
// NetworkShape: the parameters of a simulated cluster, and those that have a name.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cohom::bench {

/// Virtual time, in nanoseconds from the start of a call.
using Nanoseconds = double;
/// Bytes a nanosecond: GB/s.
using Rate = double;

/// Nodes of equal size on leaf switches below one level of spine switches. A node has one network
/// adapter, which its ranks share; each direction of it carries one message at a time.
struct NetworkShape {
  std::string_view name;
  int ranks_a_node = 1;
  int dealt_to = 0;  ///< ranks are dealt to so many nodes in turn; 0: node after node is filled
  int nodes_a_leaf = 32;
  bool switches_known = false;  ///< to the ranks: which nodes are at one leaf switch
  int uplinks = 32;             ///< of a leaf switch, each as fast as an adapter
  Rate link = 12.5;             ///< of an adapter and of each link between switches
  Nanoseconds latency = 2000;   ///< from node to node across the spine, without the bytes' own time
  Nanoseconds hop = 300;        ///< of which one switch takes; within a leaf there are two fewer
  Nanoseconds overhead = 400;   ///< processor time of a message, on either side
  Nanoseconds adapter_gap = 20;  ///< of an adapter, a message
  Rate copy = 10;                ///< of one rank to another of its node
  Rate memory = 80;              ///< of all such copies of a node together
  Nanoseconds memory_latency = 500;
  /// What plans take for Transport::preferred_message_bytes(): as over MPI's and UCX's networks.
  static constexpr std::size_t message_bytes = 56 << 10;

  [[nodiscard]] int nodes(int ranks) const {
    if (dealt_to != 0) return dealt_to < ranks ? dealt_to : ranks;
    return (ranks + ranks_a_node - 1) / ranks_a_node;
  }
  [[nodiscard]] int node_of(int rank) const {
    return dealt_to != 0 ? rank % dealt_to : rank / ranks_a_node;
  }
  [[nodiscard]] int leaf_of(int rank) const { return node_of(rank) / nodes_a_leaf; }
  /// The least time from a send to the end of its receive, of a message without bytes.
  [[nodiscard]] Nanoseconds shortest_hop() const;
};

std::span<const NetworkShape> network_table();

/// nullptr when there is none of that name.
const NetworkShape* find_network(std::string_view name);

/// One line: the numbers, for --help and the head of a table.
std::string describe(const NetworkShape& shape);

}  // namespace cohom::bench
