#include "plan/plan_memory.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

/// Never destroyed: communicators may outlive what is.
PlanMemory& PlanMemory::instance() {
  static PlanMemory& the_one = *new PlanMemory;
  return the_one;
}

void PlanMemory::Share::join() {
  PlanMemory& all = instance();
  const std::lock_guard guard(all.mutex_);
  all.shares_.push_back(this);
}

void PlanMemory::Share::leave() {
  PlanMemory& all = instance();
  const std::lock_guard guard(all.mutex_);
  std::erase(all.shares_, this);
}

void PlanMemory::add(std::size_t bytes) {
  const std::size_t now = bytes_ += bytes;
  std::size_t most = most_bytes_;
  while (most < now && !most_bytes_.compare_exchange_weak(most, now)) {
  }
}

/// To somewhat below the limit: with many communicators looking at all of them is not for nothing.
void PlanMemory::make_room(std::size_t most, int rank) {
  if (bytes_ <= most) return;
  const std::lock_guard guard(mutex_);
  std::vector<std::pair<std::uint64_t, Share*>> oldest_first;
  oldest_first.reserve(shares_.size());
  for (Share* const share : shares_)
    if (share->user_ == std::this_thread::get_id())
      oldest_first.emplace_back(share->last_use_, share);
  std::ranges::sort(oldest_first);
  bool dropped = false;
  for (const auto& [use, share] : oldest_first)
    while (bytes_ > most - most / 8 && share->drop_one_if_free()) dropped = true;
  if (dropped)
    log_once_for_all(rank, "plans of all communicators take more than COHOM_PLAN_MEMORY, " +
                               bytes_text(most) +
                               ": those that were not used for longest are made anew when needed");
}

}  // namespace cohom
