#include "plan/route_race.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

namespace {

constexpr int first_turns = 4, later_turns = 3;
/// A challenger must be so much faster.
constexpr double clearly_faster = 0.95;
/// Where the winner's times change by this factor, who wins is asked at once; by the smaller one,
/// when it was not asked for long.
constexpr double changed_much = 2, changed = 1.2;
/// A way that is so much slower in two turns gets no more. (In one, the machine may have had other
/// things to do.)
constexpr double hopeless = 3;
constexpr int enough_turns = 2;

constexpr std::uint64_t least_trial_gap = 8, least_quiet = 128, longest = std::uint64_t{1} << 20;
/// A winner that has become slower than another way was is asked after this share of the quiet
/// calls: it may have won by luck, and who wins then is faster.
constexpr std::uint64_t quiet_of_the_lucky = 8;
/// Losing turns cost at most this share of the calls between them.
constexpr double trial_share = 0.01, duel_share = 0.005;

std::uint64_t gap_of(double calls_lost, double share, std::uint64_t least) {
  const double gap = std::min(calls_lost / share, double(longest));
  return std::max(least, static_cast<std::uint64_t>(gap));
}

}  // namespace

RouteRace::RouteRace(Way first, bool has_third)
    : winner_(first), ways_(has_third ? most_ways : most_ways - 1) {
  for (std::size_t i = 0; i < ways_; ++i) {
    runners_[i].way = static_cast<Way>(i);
    begin_turns(runners_[i], first_turns);
  }
}

bool RouteRace::duels() const {
  return std::ranges::any_of(all(), [](const Runner& runner) { return runner.left != 0; });
}

std::uint64_t RouteRace::calls() const {
  std::uint64_t calls = 0;
  for (const Runner& runner : all()) calls += runner.calls;
  return calls;
}

std::optional<double> RouteRace::saved() const {
  const double native = decided_[index(Way::native)];
  if (native == 0) return std::nullopt;
  double saved = saved_;
  for (const Runner& runner : all()) {
    const std::size_t way = index(runner.way);
    saved += static_cast<double>(runner.calls - saved_of_[way]) * (native - decided_[way]);
  }
  return saved;
}

RouteRace::Turn RouteRace::next() const {
  if (duels()) {
    const Runner* next = &winning();
    for (const Runner& runner : all())
      if (runner.left > next->left) next = &runner;
    return {.way = next->way, .duels = true, .duel = duel_};
  }
  for (const Runner& runner : all())
    if (runner.way != winner_ && runner.trial_gap != 0 && runner.since_trial >= runner.trial_gap)
      return {.way = runner.way, .duels = false, .duel = duel_};
  return {.way = winner_, .duels = false, .duel = duel_};
}

void RouteRace::began(const Turn& turn) {
  Runner& taken = runners_[index(turn.way)];
  ++taken.calls;
  if (turn.duels) {
    if (turn.duel != duel_) return;
    // It got its turn before an earlier time took the rest of them away.
    if (taken.left == 0)
      ++taken.waited;
    else
      --taken.left;
    return;
  }
  ++since_duel_;
  for (Runner& runner : all())
    runner.since_trial = runner.way == turn.way ? 0 : runner.since_trial + 1;
}

std::optional<RouteRace::Decision> RouteRace::measured(const Turn& turn, double seconds) {
  if (turn.duel != duel_) return std::nullopt;  // of a duel that is over, or before one
  Runner& runner = runners_[index(turn.way)];
  if (turn.duels) return take_of_duel(runner, seconds);
  if (duels() || usual_ == 0) return std::nullopt;
  if (turn.way == winner_)
    take_of_winner(seconds);
  else
    take_of_loser(runner, seconds);
  return std::nullopt;
}

void RouteRace::begin_turns(Runner& runner, int turns) const {
  runner.duel = duel_;
  runner.left = runner.waited = turns;
  runner.best = runner.least = 0;
  runner.timed = 0;
}

void RouteRace::start_duel() {
  ++duel_;
  for (Runner& runner : all()) begin_turns(runner, later_turns);
}

void RouteRace::start_duel_with(Runner& challenger) {
  ++duel_;
  begin_turns(runners_[index(winner_)], later_turns);
  begin_turns(challenger, later_turns);
}

std::optional<RouteRace::Decision> RouteRace::take_of_duel(Runner& runner, double seconds) {
  --runner.waited;
  // Memory is touched for the first time, and peers meet.
  const bool counts = runner.warm || runner.waited == 0;
  runner.warm = true;
  runner.least = runner.timed++ == 0 ? seconds : std::min(runner.least, seconds);
  if (counts) runner.best = runner.best == 0 ? seconds : std::min(runner.best, seconds);
  double least = 0;
  for (const Runner& one : all())
    if (one.duel == duel_ && one.best != 0)
      least = least == 0 ? one.best : std::min(least, one.best);
  int waited = 0;
  for (Runner& one : all()) {
    if (one.duel != duel_) continue;
    if (one.timed >= enough_turns && one.least > hopeless * least)
      one.waited -= std::exchange(one.left, 0);
    waited += one.waited;
  }
  if (waited != 0) return std::nullopt;
  return decide();
}

RouteRace::Decision RouteRace::decide() {
  const Way before = winner_;
  double to_beat = clearly_faster * winning().best;
  for (const Runner& runner : all()) {
    if (runner.way == before || runner.duel != duel_ || runner.best >= to_beat) continue;
    winner_ = runner.way;
    to_beat = runner.best;
  }
  const double usual_before = std::exchange(usual_, winning().best);
  const bool is_as_before = usual_ < changed * usual_before && usual_before < changed * usual_;
  set_gaps(winner_ != before, is_as_before);
  since_duel_ = 0;
  recent_count_ = 0;
  Decision decision{.winner = winner_, .changed = winner_ != before, .calls = calls()};
  for (const Runner& runner : all()) decision.seconds[index(runner.way)] = runner.best;
  if (const auto saved = this->saved()) {
    saved_ = *saved;
    for (const Runner& runner : all()) saved_of_[index(runner.way)] = runner.calls;
  }
  decided_ = decision.seconds;
  ++duel_;
  return decision;
}

/// A way that was not in the duel keeps its gap, unless the winner's time has changed: then its gap
/// follows from its last time.
void RouteRace::set_gaps(bool winner_changed, bool is_as_before) {
  double all_lost = 0;
  for (Runner& runner : all()) {
    const double lost = std::max(runner.best / usual_ - 1, 0.0);
    all_lost += lost;
    if (runner.duel != duel_ && is_as_before) continue;
    runner.since_trial = 0;
    runner.trial_gap = gap_of(lost, trial_share / static_cast<double>(ways_ - 1), least_trial_gap);
  }
  quiet_ = !winner_changed && quiet_ != 0 ? std::min(2 * quiet_, longest)
                                          : gap_of(later_turns * all_lost, duel_share, least_quiet);
}

/// The winner may have become slower than it was in the duel.
void RouteRace::take_of_loser(Runner& runner, double seconds) {
  const double least = recent_count_ < recent_times ? 0 : std::ranges::min(recent_);
  if (seconds < clearly_faster * std::max(usual_, least))
    start_duel_with(runner);
  else
    runner.trial_gap = std::min(2 * runner.trial_gap, longest);
}

/// What one call takes says little: others use the machine, too.
void RouteRace::take_of_winner(double seconds) {
  recent_[recent_count_++ % recent_times] = seconds;
  if (recent_count_ < recent_times) return;
  const auto [least, most] = std::ranges::minmax(recent_);
  const double change = std::max(least / usual_, usual_ / most);
  if (change > changed_much || (change > changed && since_duel_ >= quiet_)) return start_duel();
  if (since_duel_ < quiet_ / quiet_of_the_lucky) return;
  Runner* best = nullptr;
  for (Runner& runner : all())
    if (runner.way != winner_ && (best == nullptr || runner.best < best->best)) best = &runner;
  if (best->best < clearly_faster * least) start_duel_with(*best);
}

}  // namespace cohom
