#include "executor/schedule_links.hpp"

#include <algorithm>

namespace cohom {

ScheduleLinks::ScheduleLinks(const Schedule& schedule)
    : consumers_(schedule.slots.size()),
      producer_(schedule.slots.size()),
      contribution_(schedule.chunks, Step::no_slot),
      buffer_decoded_(schedule.buffers, false) {
  for (std::uint32_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.result != Step::no_slot) producer_[step.result] = s;
    if (step.kind == StepKind::encode) {
      const ChunkRange& chunks = schedule.chunks_of(step);
      std::fill_n(contribution_.begin() + chunks.first, chunks.count, step.result);
    }
    for (std::uint32_t slot : schedule.sources_of(step)) {
      consumers_[slot].push_back(s);
      if (step.kind == StepKind::decode) buffer_decoded_[schedule.slots[slot].buffer] = true;
    }
    if (step.kind != StepKind::offload) continue;
    offloads_ = true;
    keeps_contributions_ &=
        schedule.slots[step.result].buffer != schedule.slots[schedule.sources_of(step)[0]].buffer;
  }
}

}  // namespace cohom
