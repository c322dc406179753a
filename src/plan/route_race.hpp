#pragma once
// RouteRace: which of two ways the calls of a kind take, by the times that they took.
//
// A kind of call has its own route (a codec by an algorithm) and MPI's own reduction, `native`. Who
// wins depends on links, cores and load, which no table knows. So the first calls take turns, then
// the faster way goes on alone: the winner. The loser is tried again ever more rarely, and at once
// when the winner's times change. All of it follows from agreed times and the order of calls, so
// that all ranks choose alike.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cohom {

class RouteRace {
 public:
  enum class Way : std::uint8_t { native, own };
  /// What one call is in the race.
  struct Turn {
    Way way = Way::native;
    bool duels = false;  ///< the ways take turns
    std::uint32_t duel = 0;
  };
  /// The end of a duel.
  struct Decision {
    Way winner = Way::native;
    bool changed = false;  ///< it was not the winner before
    double native_seconds = 0, own_seconds = 0;
    std::uint64_t calls = 0;  ///< of this kind, so far
  };

  /// The first winner, until there are times.
  explicit RouteRace(Way first) : winner_(first) {}

  /// What the next call is. It counts once began() is told.
  [[nodiscard]] Turn next() const;
  void began(const Turn& turn);
  /// The time of a call that has begun; of all calls, in their order. It may come when the next one
  /// has its turn already.
  std::optional<Decision> measured(const Turn& turn, double seconds);

  [[nodiscard]] Way winner() const { return winner_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_[0] + calls_[1]; }
  [[nodiscard]] std::uint64_t calls_by(Way way) const { return calls_[index(way)]; }

 private:
  static constexpr std::size_t recent_times = 3;

  static std::size_t index(Way way) { return static_cast<std::size_t>(way); }
  static Way other(Way way) { return way == Way::native ? Way::own : Way::native; }
  [[nodiscard]] bool duels() const { return left_[0] + left_[1] != 0; }
  void start_duel(int turns);
  std::optional<Decision> take_of_duel(Way way, double seconds);
  Decision decide();
  void take_of_winner(double seconds);

  Way winner_;
  std::array<std::uint64_t, 2> calls_ = {0, 0};  ///< by way
  // Of the duel.
  std::uint32_t duel_ = 0;
  std::array<int, 2> left_ = {first_turns, first_turns};    ///< turns, by way
  std::array<int, 2> waited_ = {first_turns, first_turns};  ///< times to come
  std::array<bool, 2> warm_ = {false, false};               ///< the first call of a way counts not
  std::array<double, 2> best_ = {0, 0};                     ///< 0: none yet
  // Since then.
  double usual_ = 0;  ///< seconds of the winner
  std::array<double, recent_times> recent_ = {};
  std::size_t recent_count_ = 0;
  std::uint64_t since_duel_ = 0, since_trial_ = 0;  ///< calls
  std::uint64_t trial_gap_ = 0, quiet_ = 0;         ///< calls, at least

  static constexpr int first_turns = 4;
};

constexpr std::string_view name_of(RouteRace::Way way) {
  return way == RouteRace::Way::native ? "native" : "own";
}

}  // namespace cohom
