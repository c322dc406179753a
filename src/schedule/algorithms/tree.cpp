// Tree: 2 log2(n) hops and one message a rank and direction; for small vectors.
//
// Binomial trees rooted at rank 0. The subtree of rank r with span s holds the ranks r ... r+s-1,
// so the subtrees that a rank merges lie side by side, and the lower one always comes first. A rank
// sends to its parent once and to each child once.

#include "schedule/algorithms/algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace cohom {
namespace {

struct Node {
  int rank;
  int ranks;

  /// Span of the complete subtree below this rank: children lie at powers of two below it.
  int span() const {
    return static_cast<int>(rank == 0 ? std::bit_ceil(static_cast<unsigned>(ranks))
                                      : static_cast<unsigned>(rank & -rank));
  }
  int parent() const { return rank - span(); }
};

/// Returns the slot of this rank's subtree.
std::uint32_t reduce(ScheduleBuilder& schedule, const Node& node) {
  auto sum = schedule.encode(0, Form::wide);
  for (int distance = 1; distance < node.span(); distance *= 2) {
    const int child = node.rank + distance;
    if (child >= node.ranks) break;
    const auto contributions = static_cast<std::uint32_t>(std::min(distance, node.ranks - child));
    const auto received = schedule.receive(0, Form::wide, contributions, child, only_sequence);
    // The complete sum gets a buffer of its own: for raw vectors it can be the user's output.
    const bool complete = node.rank == 0 && 2 * distance >= node.ranks;
    sum = schedule.merge(std::array{sum, received}, complete ? Step::no_slot : received);
  }
  if (node.rank != 0) schedule.send(sum, node.parent(), only_sequence);
  return sum;
}

void broadcast(ScheduleBuilder& schedule, const Node& node, std::uint32_t sum) {
  if (node.rank != 0)
    sum = schedule.receive(0, Form::wide, static_cast<std::uint32_t>(node.ranks), node.parent(),
                           only_sequence);
  // The largest subtree first: it takes longest.
  for (int distance = node.span() / 2; distance > 0; distance /= 2)
    if (node.rank + distance < node.ranks) schedule.send(sum, node.rank + distance, only_sequence);
  schedule.decode(sum);
}

}  // namespace

Schedule build_tree(const AlgorithmInput& input) {
  const Node node{.rank = input.rank, .ranks = input.ranks};
  ScheduleBuilder schedule(node.rank, node.ranks, 1);
  broadcast(schedule, node, reduce(schedule, node));
  return std::move(schedule).build();
}

}  // namespace cohom
