#pragma once
// RouteRace: which of two or three ways the calls of a kind take, by the times that they took.
//
// A kind of call has MPI's own reduction, `native`, its own route (a codec by an algorithm) and
// maybe another one. Who wins depends on links, cores and load, which no table knows. So the first
// calls take turns, then the fastest way goes on alone: the winner. The losers are tried again ever
// more rarely, and at once when the winner's times change. All of it follows from agreed times and
// the order of calls, so that all ranks choose alike.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cohom {

class RouteRace {
 public:
  enum class Way : std::uint8_t { native, own, third };
  static constexpr std::size_t most_ways = 3;
  static constexpr std::array<Way, most_ways> all_ways = {Way::native, Way::own, Way::third};

  /// What one call is in the race.
  struct Turn {
    Way way = Way::native;
    bool duels = false;  ///< ways take turns
    std::uint32_t duel = 0;
  };
  /// The end of a duel.
  struct Decision {
    Way winner = Way::native;
    bool changed = false;  ///< it was not the winner before
    /// Of each way, the best in the last duel that it had a part in; 0: there is no such way.
    std::array<double, most_ways> seconds = {};
    std::uint64_t calls = 0;  ///< of this kind, so far

    [[nodiscard]] double seconds_by(Way way) const { return seconds[index(way)]; }
  };

  /// `first`: the winner, until there are times. `has_third`: else there are two ways.
  RouteRace(Way first, bool has_third);

  /// What the next call is. It counts once began() is told.
  [[nodiscard]] Turn next() const;
  void began(const Turn& turn);
  /// The time of a call that has begun; of all calls, in their order. It may come when the next one
  /// has its turn already.
  std::optional<Decision> measured(const Turn& turn, double seconds);

  [[nodiscard]] Way winner() const { return winner_; }
  [[nodiscard]] std::uint64_t calls() const;
  [[nodiscard]] std::uint64_t calls_by(Way way) const { return runners_[index(way)].calls; }
  /// Seconds that calls by other ways took less than by native, by the least times of the last duel
  /// before them, or of the first one; less than 0: more. None without a decision.
  [[nodiscard]] std::optional<double> saved() const;

 private:
  static constexpr std::size_t recent_times = 3;

  struct Runner {
    Way way = Way::native;
    std::uint64_t calls = 0;
    // Of the last duel that it had a part in.
    std::uint32_t duel = 0;
    int left = 0;       ///< turns
    int waited = 0;     ///< times to come
    bool warm = false;  ///< its first call, which does not count, is over
    double best = 0;    ///< seconds; 0: none yet
    int timed = 0;      ///< turns, also a cold one
    double least = 0;   ///< of these
    // Where it lost.
    std::uint64_t since_trial = 0, trial_gap = 0;  ///< calls, at least
  };
  static constexpr std::size_t index(Way way) { return static_cast<std::size_t>(way); }
  [[nodiscard]] const Runner& winning() const { return runners_[index(winner_)]; }
  [[nodiscard]] std::span<Runner> all() { return {runners_.data(), ways_}; }
  [[nodiscard]] std::span<const Runner> all() const { return {runners_.data(), ways_}; }
  [[nodiscard]] bool duels() const;
  void begin_turns(Runner& runner, int turns) const;
  void start_duel();
  void start_duel_with(Runner& challenger);
  std::optional<Decision> take_of_duel(Runner& runner, double seconds);
  Decision decide();
  void set_gaps(bool winner_changed, bool is_as_before);
  void take_of_loser(Runner& runner, double seconds);
  void take_of_winner(double seconds);

  Way winner_;
  std::size_t ways_;
  std::array<Runner, most_ways> runners_ = {};  ///< by way
  std::uint32_t duel_ = 0;
  // Since the last duel.
  double usual_ = 0;  ///< seconds of the winner
  std::array<double, recent_times> recent_ = {};
  std::size_t recent_count_ = 0;
  std::uint64_t since_duel_ = 0, quiet_ = 0;  ///< calls, at least
  // Since the first duel.
  std::array<double, most_ways> decided_ = {};          ///< Decision::seconds of the last one
  std::array<std::uint64_t, most_ways> saved_of_ = {};  ///< calls by way that saved_ is of
  double saved_ = 0;
};

}  // namespace cohom
