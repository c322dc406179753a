#include "plan/route_race.hpp"

#include <algorithm>
#include <cmath>

namespace cohom {

namespace {

constexpr int later_turns = 3;
/// A challenger must be so much faster.
constexpr double clearly_faster = 0.95;
/// Where the winner's times change by this factor, who wins is asked at once; by the smaller one,
/// when it was not asked for long.
constexpr double changed_much = 2, changed = 1.2;
/// A way that is so much slower in its first turn gets no more turns than it takes to believe it.
constexpr double hopeless = 3;

constexpr std::uint64_t least_trial_gap = 32, least_quiet = 128, longest = std::uint64_t{1} << 20;
/// A winner that has become slower than the other way was is asked after this share of the quiet
/// calls: it may have won by luck, and who wins then is faster.
constexpr std::uint64_t quiet_of_the_lucky = 8;
/// Losing turns cost at most this share of the calls between them.
constexpr double trial_share = 0.01, duel_share = 0.005;

std::uint64_t gap_of(double calls_lost, double share, std::uint64_t least) {
  const double gap = std::min(calls_lost / share, double(longest));
  return std::max(least, static_cast<std::uint64_t>(gap));
}

}  // namespace

RouteRace::Turn RouteRace::next() const {
  if (duels()) {
    const std::size_t ours = index(winner_), theirs = 1 - ours;
    const Way way = left_[theirs] > left_[ours] ? other(winner_) : winner_;
    return {.way = way, .duels = true, .duel = duel_};
  }
  const bool trial = trial_gap_ != 0 && since_trial_ >= trial_gap_;
  return {.way = trial ? other(winner_) : winner_, .duels = false, .duel = duel_};
}

void RouteRace::began(const Turn& turn) {
  ++calls_[index(turn.way)];
  if (turn.duels) {
    if (turn.duel != duel_) return;
    // It got its turn before an earlier time took the rest of them away.
    if (left_[index(turn.way)] == 0)
      ++waited_[index(turn.way)];
    else
      --left_[index(turn.way)];
    return;
  }
  ++since_duel_;
  if (turn.way != winner_)
    since_trial_ = 0;
  else
    ++since_trial_;
}

std::optional<RouteRace::Decision> RouteRace::measured(const Turn& turn, double seconds) {
  if (turn.duel != duel_) return std::nullopt;  // of a duel that is over, or before one
  if (turn.duels) return take_of_duel(turn.way, seconds);
  if (duels() || trial_gap_ == 0) return std::nullopt;
  if (turn.way == winner_) {
    take_of_winner(seconds);
  } else if (seconds < clearly_faster * usual_) {
    start_duel(later_turns);
  } else {
    trial_gap_ = std::min(2 * trial_gap_, longest);
  }
  return std::nullopt;
}

void RouteRace::start_duel(int turns) {
  ++duel_;
  left_ = waited_ = {turns, turns};
  best_ = {0, 0};
}

std::optional<RouteRace::Decision> RouteRace::take_of_duel(Way way, double seconds) {
  const std::size_t own = index(way);
  --waited_[own];
  // Memory is touched for the first time, and peers meet.
  const bool counts = warm_[own] || waited_[own] == 0;
  warm_[own] = true;
  if (counts) best_[own] = best_[own] == 0 ? seconds : std::min(best_[own], seconds);
  const std::size_t theirs = 1 - own;
  if (best_[own] != 0 && best_[theirs] != 0) {
    const std::size_t slower = best_[0] > best_[1] ? 0 : 1;
    if (best_[slower] > hopeless * best_[1 - slower]) {
      waited_[slower] -= left_[slower];
      left_[slower] = 0;
    }
  }
  if (waited_[0] + waited_[1] != 0) return std::nullopt;
  return decide();
}

RouteRace::Decision RouteRace::decide() {
  const Way before = winner_;
  const double ours = best_[index(winner_)], theirs = best_[index(other(winner_))];
  if (theirs < clearly_faster * ours) winner_ = other(winner_);
  usual_ = best_[index(winner_)];
  const double slower = best_[index(other(winner_))] / usual_;
  const double lost = std::max(slower - 1, 0.0);
  trial_gap_ = gap_of(lost, trial_share, least_trial_gap);
  quiet_ = winner_ == before && quiet_ != 0 ? std::min(2 * quiet_, longest)
                                            : gap_of(later_turns * lost, duel_share, least_quiet);
  since_duel_ = since_trial_ = 0;
  recent_count_ = 0;
  ++duel_;
  return {.winner = winner_,
          .changed = winner_ != before,
          .native_seconds = best_[index(Way::native)],
          .own_seconds = best_[index(Way::own)],
          .calls = calls()};
}

/// What one call takes says little: others use the machine, too.
void RouteRace::take_of_winner(double seconds) {
  recent_[recent_count_++ % recent_times] = seconds;
  if (recent_count_ < recent_times) return;
  const auto [least, most] = std::ranges::minmax(recent_);
  const double slower = least / usual_, faster = usual_ / most;
  const double change = std::max(slower, faster);
  const bool overtaken = best_[index(other(winner_))] < clearly_faster * least;
  if (change > changed_much || (change > changed && since_duel_ >= quiet_) ||
      (overtaken && since_duel_ >= quiet_ / quiet_of_the_lucky))
    start_duel(later_turns);
}

}  // namespace cohom
