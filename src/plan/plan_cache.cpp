#include "plan/plan_cache.hpp"

#include <algorithm>

namespace cohom {

std::shared_ptr<PlanCore> PlanCache::find_or_make(const PlanEnvironment& environment,
                                                  std::size_t count, ElementType type,
                                                  const PlanOptions& options,
                                                  const Placement& placement) {
  const PlanKey key{.count = count, .type = type, .placement = placement, .options = options};
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.key == key && !entry.plan->in_flight && !entry.plan->given_up;
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().plan;
  }
  // Room first: two large workspaces at once may be one too many.
  while (entries_.size() >= most_plans || bytes_ > most_bytes) drop_oldest();
  entries_.push_front(
      {key, std::make_shared<PlanCore>(environment, count, type, options, placement)});
  bytes_ += entries_.front().plan->description().workspace_bytes;
  return entries_.front().plan;
}

void PlanCache::drop_oldest() {
  bytes_ -= entries_.back().plan->description().workspace_bytes;
  entries_.pop_back();
}

}  // namespace cohom
