// Direct: two hops whatever the number of ranks, but n^2 messages in all.
//
// Rank j owns chunk j. Every rank sends its contribution to chunk j straight to rank j, which
// merges all of them in one step, in rank order, and sends the sum to everybody. A contribution is
// never passed on, so it can travel in its narrow form and be promoted where it is added.
// In round k every rank sends to the rank k after it, so nobody is sent to by all at once.
//
// Disjoint contributions are so short that owners do not pay: all of them together are one sum.
// Every rank sends its own to everybody and merges all itself, which takes one hop and half the
// bytes.

#include "schedule/algorithms/algorithms.hpp"

#include <vector>

namespace cohom {
namespace {

constexpr std::uint32_t contribution_sequence = 0;
constexpr std::uint32_t sum_sequence = 1;

struct Rotation {
  int rank;
  int ranks;

  int after(int distance) const { return (rank + distance) % ranks; }
  int before(int distance) const { return (rank + ranks - distance) % ranks; }
};

/// Returns one slot of this rank's chunk for each rank, in rank order.
std::vector<std::uint32_t> exchange_contributions(ScheduleBuilder& schedule,
                                                  const Rotation& rotation, Form form) {
  const auto own_chunk = static_cast<std::uint32_t>(rotation.rank);
  std::vector<std::uint32_t> contributions(static_cast<std::size_t>(rotation.ranks));
  for (int k = 1; k < rotation.ranks; ++k) {
    const int receiver = rotation.after(k);
    const auto mine = schedule.encode(static_cast<std::uint32_t>(receiver), form);
    schedule.send(mine, receiver, contribution_sequence);
    const int sender = rotation.before(k);
    contributions[static_cast<std::size_t>(sender)] =
        schedule.receive(own_chunk, form, 1, sender, contribution_sequence);
  }
  // Nobody else waits for this one, so it comes last.
  contributions[own_chunk] = schedule.encode(own_chunk, form);
  return contributions;
}

void exchange_sums(ScheduleBuilder& schedule, const Rotation& rotation, std::uint32_t sum) {
  std::vector<std::uint32_t> sums;
  for (int k = 1; k < rotation.ranks; ++k) {
    schedule.send(sum, rotation.after(k), sum_sequence);
    const int owner = rotation.before(k);
    sums.push_back(schedule.receive(static_cast<std::uint32_t>(owner), Form::wide,
                                    static_cast<std::uint32_t>(rotation.ranks), owner,
                                    sum_sequence));
  }
  schedule.decode(sum);
  for (const auto received : sums) schedule.decode(received);
}

Schedule gather_contributions(const Rotation& rotation) {
  ScheduleBuilder schedule(rotation.rank, rotation.ranks, 1);
  std::vector<std::uint32_t> contributions(static_cast<std::size_t>(rotation.ranks));
  const auto mine = schedule.encode(0, Form::narrow);
  contributions[static_cast<std::size_t>(rotation.rank)] = mine;
  for (int k = 1; k < rotation.ranks; ++k) {
    schedule.send(mine, rotation.after(k), contribution_sequence);
    const int sender = rotation.before(k);
    contributions[static_cast<std::size_t>(sender)] =
        schedule.receive(0, Form::narrow, 1, sender, contribution_sequence);
  }
  schedule.decode(schedule.merge(contributions));
  return std::move(schedule).build();
}

}  // namespace

Schedule build_direct(const AlgorithmInput& input) {
  const Rotation rotation{.rank = input.rank, .ranks = input.ranks};
  if (input.disjoint) return gather_contributions(rotation);
  const Form form = input.narrow ? Form::narrow : Form::wide;
  ScheduleBuilder schedule(input.rank, input.ranks, static_cast<std::uint32_t>(input.ranks));
  const auto contributions = exchange_contributions(schedule, rotation, form);
  // One wide contribution is its own sum; a narrow one still has to be promoted.
  const bool is_sum = contributions.size() == 1 && form == Form::wide;
  exchange_sums(schedule, rotation, is_sum ? contributions.front() : schedule.merge(contributions));
  return std::move(schedule).build();
}

}  // namespace cohom
