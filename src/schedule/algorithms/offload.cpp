// Offload: an aggregator in the network sums the words. Contributions stay as they are, because the
// ranks sum what the network fails to.

#include "schedule/algorithms/algorithms.hpp"

namespace cohom {

Schedule build_offload(const AlgorithmInput& input) {
  ScheduleBuilder schedule(input.rank, input.ranks, 1);
  const auto mine = schedule.encode(0, Form::wide);
  schedule.decode(schedule.offload(mine, static_cast<std::uint32_t>(input.ranks), false));
  return std::move(schedule).build();
}

}  // namespace cohom
