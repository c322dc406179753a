#include "plan/plan_routes.hpp"

#include "memory/device_work.hpp"

#include <algorithm>

namespace cohom {

namespace {

/// Of a codec: before the payload.
std::size_t agreement_rounds(const Codec& codec) {
  const auto rounds = codec.rounds();
  return static_cast<std::size_t>(std::count_if(
      rounds.begin(), rounds.end(),
      [](const Round* round) { return round->traits().time == RoundTime::before_payload; }));
}

}  // namespace

void PlanRoutes::take_memory() {
  if (first.executor == nullptr) return;
  const DeviceWork::Use use(first.device != nullptr ? first.device->work().get() : nullptr);
  if (part != nullptr) part->take_memory();
  first.take_memory();
  if (other.executor != nullptr) other.take_memory();
}

void PlanRoutes::describe(std::size_t elements, PlanDescription& description) const {
  description.segment = first.segment;
  description.workspace_bytes = first.executor->workspace().bytes();
  if (other.executor != nullptr) description.workspace_bytes += other.executor->workspace().bytes();
  if (part != nullptr) description.workspace_bytes += part->memory_bytes();
  description.state_bytes = first.codec->state_bytes(elements);
  description.agreement_rounds = agreement_rounds(*first.codec);
}

}  // namespace cohom
