#pragma once
// What messages take between the ranks of a job, measured with MPI's own.

#include "scale/network_shape.hpp"

#include <cohom/topology.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace cohom::bench {

struct ProbedNetwork {
  NetworkShape shape;
  int threads_a_node = 1;  ///< hardware threads that the ranks of the largest node may run on
  bool dealt = false;      ///< ranks are dealt to the nodes in turn
  bool near = false;       ///< the times inside a node were measured: some node has two ranks
  bool far = false;        ///< those between nodes were: there are two

  /// By which work takes longer where so many ranks share a node.
  [[nodiscard]] double ranks_a_thread(int ranks_a_node) const {
    return std::max(1.0, double(ranks_a_node) / threads_a_node);
  }
  /// One line: what was measured.
  [[nodiscard]] std::string describe() const;
};

/// Takes tens of milliseconds. Inside a node: of the node with most ranks, two ranks alone, then
/// all of them at once. Between nodes: the first ranks of the first two alone, then each node's
/// first rank with those of the nodes beside it, all at once; the slowest counts. All nodes are
/// taken for as large as the largest. Messages lie in memory as those of a vector of so many bytes
/// do, up to 32 MiB. Collective over `comm`, whose nodes these are.
ProbedNetwork probe_network(MPI_Comm comm, const RankGroups& nodes, std::size_t vector_bytes);

/// A barrier in which ranks sleep, so that those who still work have the cores. Collective.
void wait_for_all(MPI_Comm comm);

}  // namespace cohom::bench
