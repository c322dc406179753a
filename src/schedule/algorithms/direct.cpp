// Direct: two hops whatever the number of ranks, but n^2 messages in all.
//
// Rank j owns chunk j. Every rank sends its contribution to chunk j straight to rank j, which
// merges all of them in one step, in rank order, and sends the sum to everybody: mixed radix with
// one digit. A contribution is never passed on, so it can travel in its narrow form and be promoted
// where it is added.
//
// Disjoint contributions are so short that owners do not pay: all of them together are one sum.
// Every rank sends its own to everybody and merges all itself, which takes one hop and half the
// bytes.

#include "schedule/algorithms/algorithms.hpp"

#include <vector>

namespace cohom {
namespace {

constexpr std::uint32_t sequence_id = 0;

struct Rotation {
  int rank;
  int ranks;

  int after(int distance) const { return (rank + distance) % ranks; }
  int before(int distance) const { return (rank + ranks - distance) % ranks; }
};

Schedule gather_contributions(const Rotation& rotation) {
  ScheduleBuilder schedule(rotation.rank, rotation.ranks, 1);
  std::vector<std::uint32_t> contributions(static_cast<std::size_t>(rotation.ranks));
  const auto mine = schedule.encode(0, Form::narrow);
  contributions[static_cast<std::size_t>(rotation.rank)] = mine;
  for (int k = 1; k < rotation.ranks; ++k) {
    schedule.send(mine, rotation.after(k), sequence_id);
    const int sender = rotation.before(k);
    contributions[static_cast<std::size_t>(sender)] =
        schedule.receive(0, Form::narrow, 1, sender, sequence_id);
  }
  schedule.decode(schedule.merge(contributions));
  return std::move(schedule).build();
}

}  // namespace

Schedule build_direct(const AlgorithmInput& input) {
  if (input.disjoint) return gather_contributions({.rank = input.rank, .ranks = input.ranks});
  return build_mixed_radix(input, {});
}

}  // namespace cohom
