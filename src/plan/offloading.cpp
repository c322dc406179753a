#include "plan/offloading.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

bool Offloading::ready(const OffloadedRounds& rounds, std::uint64_t number) {
  std::string why_not;
  waits_for_others_ = false;
  if (number < next_try_) {
    why_not = "it failed in an earlier call, and is tried again later";
  } else if (!aggregator_->ready()) {
    why_not = aggregator_->why_not_ready();
    waits_for_others_ = aggregator_->waits_for_others();
  } else {
    why_not = rounds.refusal();
  }
  if (why_not.empty()) return true;
  why_not_ = std::move(why_not);
  return false;
}

void Offloading::declined(bool this_rank_says_why, int unready_rank,
                          const std::string& other_algorithm) {
  ++counters_.declined;
  const std::string what = "calls go by " + other_algorithm + " instead of the aggregator " +
                           std::string(aggregator_->name());
  // One line a job: the other ranks only know who.
  if (this_rank_says_why)
    warn_once(what + ": " + why_not_);
  else
    log_once(what + ": rank " + std::to_string(unready_rank) + " says why");
}

void Offloading::complete(const OffloadedRounds& rounds, std::uint64_t number) {
  ++counters_.offloaded;
  counters_.bytes += rounds.bytes_handed_over();
  if (!rounds.repeated()) {
    pause_ = first_pause;
    return;
  }
  ++counters_.repeated;
  next_try_ = std::max(next_try_, number + 1 + pause_);
  pause_ = std::min(2 * pause_, max_pause);
  const std::string what = "the aggregator " + std::string(aggregator_->name()) +
                           " failed; the call's sums were made from rank to rank";
  if (rounds.failure())
    warn_once(what + ": " + rounds.failure()->what());
  else
    log_once(what + ": a rank that warns says why");
}

}  // namespace cohom
