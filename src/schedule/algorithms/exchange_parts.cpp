// The direct allgather: each rank sends its part to all others at once, and nothing is added.

#include "schedule/algorithms/algorithms.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace cohom {

Schedule exchange_parts(const AlgorithmInput& input) {
  ScheduleBuilder schedule(input.rank, input.ranks, static_cast<std::uint32_t>(input.ranks));
  std::vector<std::uint32_t> parts{
      schedule.encode(static_cast<std::uint32_t>(input.rank), Form::wide)};
  // In round k every rank sends to the one k further, so nobody is sent to by all at once.
  for (int k = 1; k < input.ranks; ++k) {
    const int from = (input.rank + input.ranks - k) % input.ranks;
    schedule.send(parts.front(), (input.rank + k) % input.ranks, only_sequence);
    parts.push_back(
        schedule.receive(static_cast<std::uint32_t>(from), Form::wide, 1, from, only_sequence));
  }
  for (const std::uint32_t part : parts) schedule.decode(part);
  return std::move(schedule).build();
}

}  // namespace cohom
