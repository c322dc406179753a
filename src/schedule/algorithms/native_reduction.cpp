// Native reduction: the MPI library reduces the words in place, over all ranks.

#include "schedule/algorithms/algorithms.hpp"

namespace cohom {

Schedule build_native_reduction(const AlgorithmInput& input) {
  ScheduleBuilder schedule(input.rank, input.ranks, 1);
  const auto mine = schedule.encode(0, Form::wide);
  schedule.decode(schedule.offload(mine, static_cast<std::uint32_t>(input.ranks), true));
  return std::move(schedule).build();
}

}  // namespace cohom
