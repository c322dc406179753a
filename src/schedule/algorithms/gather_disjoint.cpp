// The contributions of all ranks together are no longer than a sum: owners of chunks do not pay.
// Every rank sends its own to everybody and merges all itself, in rank order, which takes one hop
// and half the bytes of direct.

#include "schedule/algorithms/algorithms.hpp"

#include <utility>
#include <vector>

namespace cohom {
namespace {

struct Rotation {
  int rank;
  int ranks;

  int after(int distance) const { return (rank + distance) % ranks; }
  int before(int distance) const { return (rank + ranks - distance) % ranks; }
};

}  // namespace

Schedule gather_disjoint(const AlgorithmInput& input) {
  const Rotation rotation{.rank = input.rank, .ranks = input.ranks};
  ScheduleBuilder schedule(rotation.rank, rotation.ranks, 1);
  std::vector<std::uint32_t> contributions(static_cast<std::size_t>(rotation.ranks));
  const auto mine = schedule.encode(0, Form::narrow);
  contributions[static_cast<std::size_t>(rotation.rank)] = mine;
  for (int k = 1; k < rotation.ranks; ++k) {
    schedule.send(mine, rotation.after(k), only_sequence);
    const int sender = rotation.before(k);
    contributions[static_cast<std::size_t>(sender)] =
        schedule.receive(0, Form::narrow, 1, sender, only_sequence);
  }
  schedule.decode(schedule.merge(contributions));
  return std::move(schedule).build();
}

}  // namespace cohom
