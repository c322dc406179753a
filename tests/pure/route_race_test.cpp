// RouteRace: the faster way wins, a change of times is noticed within 20 calls, and what losing
// turns cost stays within its share.

#include "plan/route_race.hpp"
#include "agreement/call_pace.hpp"
#include "plan/route_races.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace cohom {
namespace {

using Way = RouteRace::Way;

/// Calls of one kind. A call's time is told when the next one has its turn, as by the agreement.
class Calls {
 public:
  /// Seconds of a call by a way.
  using Seconds = std::function<double(Way)>;

  explicit Calls(Seconds seconds, Way first = Way::native)
      : race_(first), seconds_(std::move(seconds)) {}

  Way make() {
    const RouteRace::Turn turn = race_.next();
    if (last_)
      if (const auto decision = race_.measured(last_->turn, last_->seconds))
        decisions.push_back(*decision);
    race_.began(turn);
    last_ = Last{turn, seconds_(turn.way)};
    took += last_->seconds;
    return turn.way;
  }
  /// How many of so many calls went that way.
  int make(int calls, Way way) {
    int count = 0;
    for (int i = 0; i < calls; ++i) count += make() == way ? 1 : 0;
    return count;
  }

  double took = 0;
  std::vector<RouteRace::Decision> decisions;

 private:
  struct Last {
    RouteRace::Turn turn;
    double seconds;
  };
  RouteRace race_;
  Seconds seconds_;
  std::optional<Last> last_;
};

/// Times of the two ways, with others on the machine: now and then a call takes longer.
class Times {
 public:
  Times(double native, double own, double noise = 0.1) : seconds{native, own}, noise_(noise) {}
  double operator()(Way way) {
    const double slower = std::exponential_distribution<>(1 / noise_)(random_);
    return seconds[way == Way::native ? 0 : 1] * (1 + slower);
  }
  std::array<double, 2> seconds;

 private:
  double noise_;
  std::mt19937_64 random_{7};
};

TEST(RouteRace, TheFasterWayWins) {
  for (const double own : {0.1, 0.5, 0.8, 0.9}) {
    Calls calls(Times(1, own, 0.02));
    EXPECT_GE(calls.make(20, Way::own), own < 0.4 ? 8 : 4) << own;
    EXPECT_GE(calls.make(200, Way::own), 190) << own;
    EXPECT_TRUE(calls.decisions.front().changed);
    EXPECT_EQ(calls.decisions.front().winner, Way::own);
  }
  for (const double own : {0.98, 1.1, 2.0, 30.0}) {
    Calls calls(Times(1, own, 0.01));
    calls.make(20, Way::native);
    EXPECT_GE(calls.make(200, Way::native), 195) << own;
    EXPECT_FALSE(calls.decisions.front().changed);
  }
}

TEST(RouteRace, TheFirstCallIsNative) { EXPECT_EQ(Calls(Times(1, 0.1)).make(), Way::native); }

/// The first call of a way takes longer than all others.
TEST(RouteRace, ColdCallsDoNotCount) {
  int own_calls = 0;
  Calls calls([&](Way way) { return way == Way::native ? 1.0 : own_calls++ == 0 ? 100.0 : 0.5; });
  calls.make(12, Way::own);
  EXPECT_GE(calls.make(100, Way::own), 97);
}

/// A link lets the first bytes through faster than those that follow.
TEST(RouteRace, AWinnerByLuckLosesSoon) {
  for (const double later : {1.07, 1.2, 1.5}) {
    int own_calls = 0;
    Calls calls([&](Way way) { return way == Way::native ? 1.0 : ++own_calls <= 4 ? 0.9 : later; });
    calls.make(10, Way::own);
    EXPECT_EQ(calls.decisions.front().winner, Way::own) << later;
    calls.make(30, Way::own);
    EXPECT_GE(calls.make(100, Way::native), 98) << later;
  }
}

TEST(RouteRace, AHopelessWayGetsTwoTurns) {
  Calls calls(Times(1, 50, 0.01));
  EXPECT_LE(calls.make(20, Way::own), 2);
  EXPECT_EQ(calls.decisions.size(), 1u);
}

/// What the calls of the loser cost, in calls of the winner.
double lost_share(double native, double own, int first, int calls) {
  Times times(native, own);
  double lost = 0;
  int number = 0;
  Calls race([&](Way way) {
    const double seconds = times(way);
    const double loser = std::max(native, own), winner = std::min(native, own);
    const bool loses = (way == Way::native) == (native > own);
    if (++number > first && loses) lost += loser - winner;
    return seconds;
  });
  race.make(first + calls, Way::native);
  return lost / (calls * std::min(native, own));
}

TEST(RouteRace, LosingTurnsCostOnePerCent) {
  for (const double ratio : {1.1, 1.5, 3.0, 10.0, 100.0}) {
    EXPECT_LE(lost_share(1, ratio, 20, 980), 0.02) << "native wins, " << ratio;
    EXPECT_LE(lost_share(ratio, 1, 20, 980), 0.02) << "own wins, " << ratio;
    EXPECT_LE(lost_share(1, ratio, 20, 100000), 0.01) << "native wins, " << ratio;
    EXPECT_LE(lost_share(ratio, 1, 20, 100000), 0.01) << "own wins, " << ratio;
  }
}

/// A link that becomes 50 times slower, and fast again.
TEST(RouteRace, NoticesAnotherLinkWithinTwentyCalls) {
  for (const int before : {30, 300, 10000}) {
    Times times(1, 3);
    Calls calls([&](Way way) { return times(way); });
    EXPECT_GE(calls.make(before, Way::native), before * 8 / 10);
    times.seconds = {50, 12};
    calls.make(20, Way::own);
    EXPECT_GE(calls.make(100, Way::own), 96) << before;
    times.seconds = {1, 3};
    calls.make(20, Way::native);
    EXPECT_GE(calls.make(100, Way::native), 96) << before;
  }
}

/// The winner stays as it is, and the loser gets faster.
TEST(RouteRace, TriesTheLoserAgain) {
  Times times(1, 1.5, 0.01);
  Calls calls([&](Way way) { return times(way); });
  calls.make(100, Way::native);
  times.seconds[1] = 0.5;
  calls.make(300, Way::own);
  EXPECT_EQ(calls.make(50, Way::own), 50);
}

/// A rank is told times in the same order with the same turns; nothing else may matter.
TEST(RouteRace, RanksWithTheSameTimesChooseAlike) {
  Times times(1, 1.02, 0.5);
  std::vector<RouteRace> ranks(3, RouteRace(Way::native));
  std::optional<std::pair<RouteRace::Turn, double>> last;
  for (int call = 0; call < 100000; ++call) {
    const RouteRace::Turn turn = ranks[0].next();
    for (RouteRace& rank : ranks) {
      ASSERT_EQ(rank.next().way, turn.way) << "call " << call;
      if (last) static_cast<void>(rank.measured(last->first, last->second));
      rank.began(turn);
    }
    last.emplace(turn, times(turn.way));
  }
}

/// Each rank has times of its own: clocks that run fast or slow, and one rank that always comes
/// late, for which the others wait. They tell each other as calls do.
TEST(RouteRace, RanksWithDifferentClocksChooseAlike) {
  const std::array<double, 3> clocks = {0.5, 1, 1.7};
  const CallKind kind{.ranks = 3, .codec = "thc", .type = ElementType::f32, .size = 40};
  std::vector<RouteRaces> ranks(3, RouteRaces({}));
  std::mt19937 random(7);
  Times times(1e-3, 1.5e-3, 0.3);
  int own = 0;
  for (int call = 0; call < 100000; ++call) {
    if (call % 10000 == 0) times.seconds = {1e-3, call % 20000 == 0 ? 1.5e-3 : 0.5e-3};
    CallPace pace;
    for (RouteRaces& rank : ranks) pace.merge(CallPace(true, false, rank.seconds()));
    std::vector<RouteRace::Turn> turns;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      RouteRaces::Entry& entry = ranks[rank].of(kind, 1 << 20, "thc by direct");
      turns.push_back(entry.race.next());  // before the agreement
      ranks[rank].agree(pace.seconds(), static_cast<int>(rank) + 1);
      entry.race.began(turns.back());
      ASSERT_EQ(turns.back().way, turns.front().way) << "call " << call;
    }
    const double late = random() % 4 == 0 ? 2e-3 : 0;
    const double took = times(turns.front().way);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const double waited = rank == 2 ? 0 : late;
      ranks[rank].ended(ranks[rank].of(kind, 1 << 20, {}), turns[rank],
                        (waited + took) * clocks[rank]);
    }
    own += turns.front().way == Way::own ? 1 : 0;
  }
  EXPECT_GT(own, 30000) << "of half of the calls it is twice as fast";
  EXPECT_LT(own, 55000);
}

}  // namespace
}  // namespace cohom
