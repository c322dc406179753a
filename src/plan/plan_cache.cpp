#include "plan/plan_cache.hpp"

#include <algorithm>
#include <tuple>

namespace cohom {

namespace {

/// All that a plan is made of. A field that is added to Options does not compile here until
/// somebody says whether it is.
auto parts_of_plan(const Options& options) {
  const auto& [codec, algorithm, op, segment, buffer, aggregator, transport, timeout, checksum,
               threads, progress, native] = options;
  return std::tie(codec, algorithm, op, segment, aggregator, transport, checksum, threads, progress,
                  native);
}

}  // namespace

std::shared_ptr<PlanCore> PlanCache::find_or_make(const PlanEnvironment& environment,
                                                  std::size_t count, ElementType type,
                                                  const Options& options,
                                                  const Placement& placement) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.count == count && entry.type == type && entry.placement == placement &&
           !entry.plan->in_flight && !entry.plan->given_up &&
           parts_of_plan(entry.options) == parts_of_plan(options);
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().plan;
  }
  const PlanOptions resolved = resolve(options, *environment.defaults);
  // Room first: two large workspaces at once may be one too many.
  while (entries_.size() >= max_plans || bytes_ > max_bytes) drop_oldest();
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
