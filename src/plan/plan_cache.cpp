#include "plan/plan_cache.hpp"

#include <algorithm>

namespace cohom {

namespace {

/// All that a plan is made of; neither the buffer's name nor the timeout is.
bool make_one_plan(const Options& a, const Options& b) {
  return a.op == b.op && a.segment == b.segment && a.codec == b.codec &&
         a.algorithm == b.algorithm && a.aggregator == b.aggregator && a.transport == b.transport &&
         a.checksum == b.checksum;
}

}  // namespace

std::shared_ptr<PlanCore> PlanCache::find_or_make(const PlanEnvironment& environment,
                                                  std::size_t count, ElementType type,
                                                  const Options& options,
                                                  const Placement& placement) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.count == count && entry.type == type && entry.placement == placement &&
           !entry.plan->in_flight && !entry.plan->given_up && make_one_plan(entry.options, options);
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().plan;
  }
  const PlanOptions resolved = resolve(options, *environment.defaults);
  // Room first: two large workspaces at once may be one too many.
  while (entries_.size() >= most_plans || bytes_ > most_bytes) drop_oldest();
  entries_.push_front(
      {.count = count,
       .type = type,
       .placement = placement,
       .options = options,
       .plan = std::make_shared<PlanCore>(environment, count, type, resolved, placement)});
  bytes_ += entries_.front().plan->description().workspace_bytes;
  return entries_.front().plan;
}

void PlanCache::drop_oldest() {
  bytes_ -= entries_.back().plan->description().workspace_bytes;
  entries_.pop_back();
}

}  // namespace cohom
