#pragma once
// CallTurn: a call's part in the race of its plan: which way it goes, and what time that took.

#include "agreement/call_pace.hpp"
#include "plan/plan_core.hpp"
#include "plan/route_races.hpp"

#include <chrono>
#include <optional>

namespace cohom {

class CallOwner;

class CallTurn {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The plan outlives what the call does from here on.
  void take(const PlanCore& plan, int rank);
  /// What the call does from now on is its time in the race. Memory that it took stays the plan's,
  /// and says nothing of the calls to come. `began`: when it did, earlier.
  void start_clock(std::optional<Time> began = std::nullopt);
  [[nodiscard]] Time began() const { return began_; }
  /// What all ranks have agreed on counts once: what they know alike of earlier calls, where they
  /// all wait for this one, so that none has made the next one.
  void agree(const CallPace& pace, CallOwner& owner);
  /// The call is over, without an error.
  void end(CallOwner& owner);

  /// Where there is no race, or the native way has its turn.
  [[nodiscard]] bool may_go_natively() const {
    return !turn_ || turn_->way == RouteRace::Way::native;
  }
  /// The third way has its turn.
  [[nodiscard]] bool goes_third_way() const { return turn_ && turn_->way == RouteRace::Way::third; }
  [[nodiscard]] bool has_race() const { return race_ != nullptr; }
  /// All ranks make this call in their race, and wait for it.
  [[nodiscard]] bool in_race() const { return in_race_; }

 private:
  RouteRaces::Entry* race_ = nullptr;    ///< null: the plan has none
  std::optional<RouteRace::Turn> turn_;  ///< in the race
  bool agreed_ = false;
  bool in_race_ = false;
  bool from_agreement_ = false;  ///< the time begins there
  bool tells_time_ = true;       ///< this rank does
  Time began_;                   ///< of a call with a turn
};

}  // namespace cohom
