// RouteRace: the faster way wins, a change of times is noticed within 20 calls, and what losing
// turns cost stays within its share.

#include "plan/route_race.hpp"
#include "agreement/call_pace.hpp"
#include "plan/route_races.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace cohom {
namespace {

using Way = RouteRace::Way;

/// Calls of one kind. A call's time is told when the next one has its turn, as by the agreement.
class Calls {
 public:
  /// Seconds of a call by a way.
  using Seconds = std::function<double(Way)>;

  explicit Calls(Seconds seconds, bool has_third = false)
      : race_(Way::native, has_third), seconds_(std::move(seconds)) {}

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

/// Times of the ways, with others on the machine: now and then a call takes longer.
class Times {
 public:
  Times(double native, double own, double noise = 0.1) : Times({native, own, 0}, noise) {}
  Times(const std::array<double, 3>& by_way, double noise) : seconds(by_way), noise_(noise) {}
  double operator()(Way way) {
    const double slower = std::exponential_distribution<>(1 / noise_)(random_);
    return seconds[static_cast<std::size_t>(way)] * (1 + slower);
  }
  std::array<double, 3> seconds;

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

/// Which of three ways wins does not depend on their order, and all have had their turns within the
/// first 20 calls.
TEST(RouteRace, TheFastestOfThreeWins) {
  std::array<double, 3> seconds = {0.7, 0.8, 1};
  do {
    Calls calls(Times(seconds, 0.02), true);
    calls.make(20, Way::native);
    ASSERT_EQ(calls.decisions.size(), 1u);
    const auto fastest = static_cast<Way>(std::ranges::min_element(seconds) - seconds.begin());
    EXPECT_EQ(calls.decisions.front().winner, fastest);
    for (std::size_t way = 0; way < 3; ++way)
      EXPECT_NEAR(calls.decisions.front().seconds[way], seconds[way], 0.1 * seconds[way]);
    EXPECT_GE(calls.make(200, fastest), 190);
  } while (std::next_permutation(seconds.begin(), seconds.end()));
}

/// A loser gets better, also one that had no part in the last duel.
TEST(RouteRace, TriesEachLoserAgain) {
  for (const std::size_t loser : {1u, 2u})
    for (const double rival : {1.2, 2.0}) {
      Times times({1, rival, rival}, 0.01);
      Calls calls([&](Way way) { return times(way); }, true);
      calls.make(50, Way::native);
      times.seconds[3 - loser] = 0.9;  // has a duel with the winner, and wins
      calls.make(300, static_cast<Way>(3 - loser));
      EXPECT_EQ(calls.decisions.back().winner, static_cast<Way>(3 - loser)) << rival;
      times.seconds[loser] = 0.5;
      calls.make(1000, Way::native);
      EXPECT_EQ(calls.make(20, static_cast<Way>(loser)), 20) << rival;
    }
}

TEST(RouteRace, AHopelessWayGetsTwoTurns) {
  Calls calls(Times(1, 50, 0.01));
  EXPECT_LE(calls.make(20, Way::own), 2);
  EXPECT_EQ(calls.decisions.size(), 1u);
}

/// One call takes long for another reason, in any turn of the duel.
TEST(RouteRace, OneSlowCallDecidesNothing) {
  for (int slow = 0; slow < 8; ++slow) {
    int call = 0;
    Calls calls([&](Way way) {
      const double seconds = way == Way::native ? 1.0 : 0.8;
      return call++ == slow ? 50 : seconds;
    });
    calls.make(12, Way::own);
    ASSERT_EQ(calls.decisions.size(), 1u);
    EXPECT_EQ(calls.decisions.front().winner, Way::own) << slow;
    EXPECT_DOUBLE_EQ(calls.decisions.front().seconds_by(Way::native), 1) << slow;
  }
}

/// What the calls of losers cost, in calls of the winner. The third time is 0 where there is no
/// such way.
double lost_share(const std::array<double, 3>& seconds, double noise, int first, int calls) {
  const auto [native, own, third] = seconds;
  Times times(seconds, noise);
  const double winner = std::min({native, own, third != 0 ? third : own});
  double lost = 0;
  int number = 0;
  Calls race(
      [&](Way way) {
        if (++number > first) lost += times.seconds[static_cast<std::size_t>(way)] - winner;
        return times(way);
      },
      third != 0);
  race.make(first + calls, Way::native);
  return lost / (calls * winner);
}

TEST(RouteRace, LosingTurnsCostOnePerCent) {
  for (const double ratio : {1.1, 1.5, 3.0, 10.0, 100.0}) {
    for (const double third : {0.0, 1.2, 2.0, 20.0}) {
      for (const double noise : {0.02, 0.1}) {
        for (const int calls : {980, 100000}) {
          EXPECT_LE(lost_share({1, ratio, third}, noise, 20, calls), 0.01) << "native, " << ratio;
          EXPECT_LE(lost_share({ratio, 1, third}, noise, 20, calls), 0.01) << "own, " << ratio;
        }
      }
    }
  }
}

/// Beside native alone, whichever wins, by the last times. Calls before the first decision count,
/// too.
TEST(RouteRace, SaysWhatWasSaved) {
  RouteRace race(Way::native, false);
  double native = 1, own = 0.5;
  const auto make_call = [&] {
    const RouteRace::Turn turn = race.next();
    race.began(turn);
    return race.measured(turn, turn.way == Way::native ? native : own).has_value();
  };
  const auto make_calls = [&](int calls) {
    for (int i = 0; i < calls; ++i) static_cast<void>(make_call());
    return static_cast<double>(race.calls_by(Way::own));
  };
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(make_call());
  EXPECT_FALSE(race.saved());
  EXPECT_TRUE(make_call());
  EXPECT_DOUBLE_EQ(race.saved().value_or(0), 0.5 * 4);
  const double own_calls = make_calls(100);
  EXPECT_DOUBLE_EQ(race.saved().value_or(0), 0.5 * own_calls);

  native = 50;
  own = 12;
  int calls = 0;
  while (!make_call()) ASSERT_LT(++calls, 100);
  const double until = static_cast<double>(race.calls_by(Way::own));
  EXPECT_DOUBLE_EQ(race.saved().value_or(0), 0.5 * until) << "so long native's new time is unknown";
  const double later = make_calls(100) - until;
  EXPECT_GE(later, 90);
  EXPECT_DOUBLE_EQ(race.saved().value_or(0), 0.5 * until + 38 * later);

  race = RouteRace(Way::native, false);
  native = 1;
  own = 2;
  const double lost = make_calls(200);
  EXPECT_DOUBLE_EQ(race.saved().value_or(0), -lost) << "native wins";
}

/// A link that becomes 50 times slower, and fast again.
TEST(RouteRace, NoticesAnotherLinkWithinTwentyCalls) {
  for (const int before : {30, 300, 10000}) {
    Times times(1, 3);
    Calls calls([&](Way way) { return times(way); });
    EXPECT_GE(calls.make(before, Way::native), before * 8 / 10);
    times.seconds = {50, 12, 0};
    calls.make(20, Way::own);
    EXPECT_GE(calls.make(100, Way::own), 96) << before;
    times.seconds = {1, 3, 0};
    calls.make(20, Way::native);
    EXPECT_GE(calls.make(100, Way::native), 96) << before;
  }
}

/// On another link the third way may be the fastest, which had no part in the last duel.
TEST(RouteRace, AllWaysHaveTurnsOnAnotherLink) {
  Times times({1, 3, 9}, 0.1);
  Calls calls([&](Way way) { return times(way); }, true);
  EXPECT_GE(calls.make(300, Way::native), 240);
  times.seconds = {50, 80, 12};
  calls.make(20, Way::third);
  EXPECT_GE(calls.make(100, Way::third), 96);
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
  Times times({1, 1.02, 1.04}, 0.5);
  std::vector<RouteRace> ranks(3, RouteRace(Way::native, true));
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

/// One kind has lengths for which the table takes different algorithms: their times are no rivals.
TEST(RouteRace, AlgorithmsOfAKindRaceEachByItself) {
  const CallKind kind{.ranks = 20, .codec = "thc", .type = ElementType::f32, .size = 44};
  RouteRaces races({});
  RouteRaces::Entry& direct = races.of(kind, 5 << 20, {.codec = "thc", .algorithm = "direct"});
  EXPECT_EQ(&direct, &races.of(kind, 6 << 20, {.codec = "thc", .algorithm = "direct"}));
  EXPECT_NE(&direct, &races.of(kind, 5 << 20, {.codec = "thc", .algorithm = "mixed_radix"}));
}

/// Each rank has times of its own: clocks that run fast or slow, and one rank that always comes
/// late, for which the others wait. They tell each other as calls do.
TEST(RouteRace, RanksWithDifferentClocksChooseAlike) {
  const std::array<double, 3> clocks = {0.5, 1, 1.7};
  const CallKind kind{.ranks = 3, .codec = "thc", .type = ElementType::f32, .size = 40};
  std::vector<RouteRaces> ranks(3, RouteRaces({}));
  std::mt19937 random(7);
  Times times({1e-3, 1.5e-3, 3e-3}, 0.3);
  const OwnWays ways{
      .codec = "thc", .algorithm = "direct", .third_codec = "thc", .third_algorithm = "ring"};
  std::array<int, 3> by_way = {};
  for (int call = 0; call < 120000; ++call) {
    if (call % 10000 == 0)
      std::rotate(times.seconds.begin(), times.seconds.begin() + 1, times.seconds.end());
    CallPace pace;
    for (RouteRaces& rank : ranks) pace.merge(CallPace(true, false, rank.seconds()));
    std::vector<RouteRace::Turn> turns;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      RouteRaces::Entry& entry = ranks[rank].of(kind, 1 << 20, ways);
      turns.push_back(entry.race.next());  // before the agreement
      ranks[rank].agree(pace.seconds(), static_cast<int>(rank) + 1);
      entry.race.began(turns.back());
      ASSERT_EQ(turns.back().way, turns.front().way) << "call " << call;
    }
    const double late = random() % 4 == 0 ? 2e-3 : 0;
    const double took = times(turns.front().way);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const double waited = rank == 2 ? 0 : late;
      ranks[rank].ended(ranks[rank].of(kind, 1 << 20, ways), turns[rank],
                        (waited + took) * clocks[rank]);
    }
    ++by_way[static_cast<std::size_t>(turns.front().way)];
  }
  for (const int calls : by_way) EXPECT_NEAR(calls, 40000, 10000) << "each is fastest for a third";
}

}  // namespace
}  // namespace cohom
