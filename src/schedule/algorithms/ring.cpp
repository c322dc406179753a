// Ring: bandwidth optimal, 2(n-1) messages a rank, all of them to the next rank.
//
// Reduce-scatter: chunk c starts at rank c+1 and passes every rank once, each adding its own
// contribution behind what arrived, until rank c completes it. So rank c owns chunk c, and the
// contributions of chunk c are added in the order c+1, c+2, ..., n-1, 0, ..., c.
// Allgather: the complete sum makes one more round, forwarded verbatim. Where nothing is added,
// this is all, and a rank's own contribution takes the place of the sum.

#include "schedule/algorithms/algorithms.hpp"

#include <array>

namespace cohom {
namespace {

struct Ring {
  int rank;
  int ranks;

  int next() const { return (rank + 1) % ranks; }
  int previous() const { return (rank + ranks - 1) % ranks; }
  std::uint32_t hops() const { return static_cast<std::uint32_t>(ranks - 1); }
  /// The chunk that lies `distance` <= n behind this rank's own.
  std::uint32_t chunk_behind(std::uint32_t distance) const {
    return (static_cast<std::uint32_t>(rank + ranks) - distance) %
           static_cast<std::uint32_t>(ranks);
  }
};

/// Returns the slot of the complete sum of this rank's chunk.
std::uint32_t reduce_scatter(ScheduleBuilder& schedule, const Ring& ring) {
  auto sum = schedule.encode(ring.chunk_behind(1), Form::wide);
  for (std::uint32_t hop = 0; hop < ring.hops(); ++hop) {
    const auto chunk = ring.chunk_behind(hop + 2);
    schedule.send(sum, ring.next(), hop);
    const auto received = schedule.receive(chunk, Form::wide, hop + 1, ring.previous(), hop);
    const auto mine = schedule.encode(chunk, Form::wide);
    // The complete sum gets a buffer of its own: for raw vectors it can be the user's output.
    const bool complete = hop + 1 == ring.hops();
    sum = schedule.merge(std::array{received, mine}, complete ? Step::no_slot : received);
  }
  return sum;
}

/// `own`: of this rank's chunk, holding so many contributions, as those of others do.
void allgather(ScheduleBuilder& schedule, const Ring& ring, std::uint32_t own,
               std::uint32_t contributions) {
  for (std::uint32_t hop = 0; hop < ring.hops(); ++hop) {
    const auto sequence_id = ring.hops() + hop;
    schedule.send(own, ring.next(), sequence_id);
    const auto received = schedule.receive(ring.chunk_behind(hop + 1), Form::wide, contributions,
                                           ring.previous(), sequence_id);
    schedule.decode(own);
    own = received;
  }
  schedule.decode(own);
}

}  // namespace

Schedule build_ring(const AlgorithmInput& input) {
  const Ring ring{.rank = input.rank, .ranks = input.ranks};
  ScheduleBuilder schedule(ring.rank, ring.ranks, static_cast<std::uint32_t>(ring.ranks));
  if (input.collective == ReductionKind::allgather) {
    allgather(schedule, ring, schedule.encode(ring.chunk_behind(0), Form::wide), 1);
    return std::move(schedule).build();
  }
  const std::uint32_t sum = reduce_scatter(schedule, ring);
  if (input.collective == ReductionKind::allreduce)
    allgather(schedule, ring, sum, static_cast<std::uint32_t>(ring.ranks));
  else
    end_at_owners_or_root(schedule, input, sum, ring.hops());
  return std::move(schedule).build();
}

}  // namespace cohom
