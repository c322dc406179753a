#include "plan/plan_cache.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

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
                                                  const PlanShape& shape, const Options& options,
                                                  const Placement& placement) {
  const std::lock_guard guard(in_use_);
  use();
  const auto is_free = [&](const Entry& entry) {
    return entry.placement == placement && !entry.plan->calls.in_flight &&
           !entry.plan->calls.given_up && parts_of_plan(entry.options) == parts_of_plan(options);
  };
  auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.plan->shape() == shape && is_free(entry); });
  if (found == entries_.end()) {
    found = std::ranges::find_if(entries_, [&](const Entry& entry) {
      return entry.plan.use_count() == 1 && entry.plan->serves(environment, shape) &&
             is_free(entry);
    });
    if (found != entries_.end()) found->plan->become(environment, shape.count);
  }
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().plan;
  }
  const PlanOptions resolved = resolve(options, *environment.defaults);
  const int rank = environment.transport->rank();
  const std::size_t most_bytes = plan_memory_of(*environment.defaults);
  while (entries_.size() >= max_plans) entries_.pop_back();
  // Two large workspaces at once may be one too many.
  PlanMemory::instance().make_room(most_bytes, rank);
  auto plan = std::make_shared<PlanCore>(environment, shape, resolved, placement);
  // Else the first call may need none.
  if (plan->race() == nullptr && plan->short_sum() == nullptr) plan->routes().take_memory();
  entries_.push_front({.placement = placement, .options = options, .plan = std::move(plan)});
  entries_.front().plan->routes().count_memory(most_bytes, rank);
  return entries_.front().plan;
}

PlanCache::~PlanCache() {
  leave();
  entries_.clear();
}

bool PlanCache::drop_one_if_free() {
  const std::unique_lock guard(in_use_, std::try_to_lock);
  if (!guard) return false;
  const auto unused = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& entry) {
    return entry.plan.use_count() == 1 && entry.plan->routes().workspace_bytes() != 0;
  });
  if (unused == entries_.rend()) return false;
  entries_.erase(std::prev(unused.base()));
  return true;
}

}  // namespace cohom
