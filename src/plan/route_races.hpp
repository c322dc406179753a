#pragma once
// RouteRaces: the races of a communicator, and the time of the call that ran last in one of them,
// until all ranks have agreed on it.

#include "plan/route_race.hpp"

#include <cohom/element_type.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cohom {

class RouteRaces {
 public:
  /// Calls of one kind.
  struct Kind {
    std::string codec;  ///< as asked for
    ElementType type = ElementType::f32;
    int size = 0;  ///< size_class()
    // It takes the 0 of a comparison for a null pointer. NOLINTNEXTLINE(modernize-use-nullptr)
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Entry {
    RouteRace race;
    std::string name;  ///< for the log: "thc, f32, 1 MiB"
    std::string own;   ///< the other way's: "thc by direct"
  };

  /// Two classes for each power of two.
  static int size_class(std::size_t bytes);

  /// The one of that kind. Its address stays. `own` names the route of whoever asks first.
  Entry& of(std::size_t bytes, ElementType type, const std::string& codec, const std::string& own);

  /// A call that all ranks made in a race, and waited for, is over on this rank.
  void ended(Entry& entry, const RouteRace::Turn& turn, double seconds);
  /// Of that call, until it is agreed on.
  [[nodiscard]] std::optional<double> seconds() const;
  /// All ranks have agreed on its time, in a call that they all wait for; none: no rank has one.
  /// Rank `rank` logs what follows.
  void agree(std::optional<double> seconds, int rank);

 private:
  struct Ended {
    Entry* entry = nullptr;
    RouteRace::Turn turn;
    double seconds = 0;
  };

  std::map<Kind, Entry> entries_;
  std::optional<Ended> ended_;
};

}  // namespace cohom
