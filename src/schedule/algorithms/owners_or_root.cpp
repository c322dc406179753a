// The ends of a reduce-scatter and of a reduce: each chunk's sum stays with its owner, or goes to
// the root.

#include "schedule/algorithms/algorithms.hpp"

namespace cohom {

void end_at_owners_or_root(ScheduleBuilder& schedule, const AlgorithmInput& input,
                           std::uint32_t sum, std::uint32_t sequence_id) {
  if (input.collective == ReductionKind::reduce_scatter) return schedule.decode(sum);
  if (input.rank != input.root) return schedule.send(sum, input.root, sequence_id);
  const auto ranks = static_cast<std::uint32_t>(input.ranks);
  for (std::uint32_t chunk = 0; chunk < ranks; ++chunk) {
    const auto owner = static_cast<int>(chunk);
    schedule.decode(
        owner == input.root ? sum : schedule.receive(chunk, Form::wide, ranks, owner, sequence_id));
  }
}

}  // namespace cohom
