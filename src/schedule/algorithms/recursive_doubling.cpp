// Recursive doubling: log2(n) hops, the whole vector in each; for the smallest vectors.
//
// In round k, groups of 2^k neighbouring members swap their sums with the group beside them. Both
// partners put the lower group's operand first, so they compute the same bits.
// When n is no power of two, the first 2 * (n - 2^m) ranks pair up beforehand: the even rank of a
// pair takes part as a member for both, and hands the sum back at the end. Members are numbered in
// rank order, so a group still holds neighbouring ranks.

#include "schedule/algorithms/algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace cohom {
namespace {

struct Members {
  int count;  ///< the largest power of two <= n
  int pairs;  ///< the first so many members stand for two ranks

  explicit Members(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        pairs(ranks - count) {}

  bool in_pair(int rank) const { return rank < 2 * pairs; }
  int member(int rank) const { return in_pair(rank) ? rank / 2 : rank - pairs; }
  int rank(int member) const { return member < pairs ? 2 * member : member + pairs; }
  /// How many ranks the members first ... first+size-1 stand for.
  std::uint32_t contributions(int first, int size) const {
    return static_cast<std::uint32_t>(size + std::clamp(pairs - first, 0, size));
  }
};

/// The odd rank of a pair only hands in its contribution and gets the sum back.
void hand_in(ScheduleBuilder& schedule, const AlgorithmInput& input) {
  const int partner = input.rank - 1;
  schedule.send(schedule.encode(0, Form::wide), partner, only_sequence);
  schedule.decode(schedule.receive(0, Form::wide, static_cast<std::uint32_t>(input.ranks), partner,
                                   only_sequence));
}

std::uint32_t exchange(ScheduleBuilder& schedule, const Members& members, int member,
                       std::uint32_t sum) {
  for (int size = 1; size < members.count; size *= 2) {
    const int partner = member ^ size;
    const int partner_group = partner & ~(size - 1);
    schedule.send(sum, members.rank(partner), only_sequence);
    const auto received =
        schedule.receive(0, Form::wide, members.contributions(partner_group, size),
                         members.rank(partner), only_sequence);
    const auto operands = member < partner ? std::array{sum, received} : std::array{received, sum};
    // The complete sum gets a buffer of its own: for raw vectors it can be the user's output.
    const bool complete = 2 * size == members.count;
    sum = schedule.merge(operands, complete ? Step::no_slot : received);
  }
  return sum;
}

}  // namespace

Schedule build_recursive_doubling(const AlgorithmInput& input) {
  const Members members(input.ranks);
  ScheduleBuilder schedule(input.rank, input.ranks, 1);
  const bool paired = members.in_pair(input.rank);
  if (paired && input.rank % 2 == 1) {
    hand_in(schedule, input);
    return std::move(schedule).build();
  }
  auto sum = schedule.encode(0, Form::wide);
  if (paired) {
    const auto received = schedule.receive(0, Form::wide, 1, input.rank + 1, only_sequence);
    sum = schedule.merge(std::array{sum, received}, received);
  }
  sum = exchange(schedule, members, members.member(input.rank), sum);
  if (paired) schedule.send(sum, input.rank + 1, only_sequence);
  schedule.decode(sum);
  return std::move(schedule).build();
}

}  // namespace cohom
