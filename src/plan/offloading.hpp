#pragma once
// Offloading: a communicator's end of one aggregator in the network, when calls go there, and what
// became of those that did.
//
// After a failure calls stay away for a while that is counted in calls, and so is the same on all
// ranks; the agreement before each call has the last word.

#include "executor/offloaded_rounds.hpp"

#include <cohom/communicator.hpp>
#include <cohom/offload.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cohom {

class Offloading {
 public:
  /// Calls that stay away after a first failure; each further one doubles it, up to
  /// `max_pause`.
  static constexpr std::uint64_t first_pause = 8;
  static constexpr std::uint64_t max_pause = 1024;

  explicit Offloading(std::shared_ptr<Aggregator> aggregator)
      : aggregator_(std::move(aggregator)) {}

  [[nodiscard]] Aggregator& aggregator() const { return *aggregator_; }

  /// This rank's word on call `number`: whether it can be offloaded.
  [[nodiscard]] bool ready(const OffloadedRounds& rounds, std::uint64_t number);
  /// Whether that was false because of other ranks.
  [[nodiscard]] bool waits_for_others() const { return waits_for_others_; }
  /// All ranks agreed that the call goes by another algorithm; `unready_rank` says why.
  void declined(bool this_rank_says_why, int unready_rank, const std::string& other_algorithm);
  /// An offloaded call is over.
  void complete(const OffloadedRounds& rounds, std::uint64_t number);

  [[nodiscard]] const OffloadCounters& counters() const { return counters_; }

 private:
  std::shared_ptr<Aggregator> aggregator_;
  OffloadCounters counters_;
  std::string why_not_;  ///< ready() was last false
  bool waits_for_others_ = false;
  std::uint64_t next_try_ = 0;
  std::uint64_t pause_ = first_pause;
};

}  // namespace cohom
