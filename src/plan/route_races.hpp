#pragma once
// RouteRaces: the races of a communicator, and the time of the call that ran last in one of them,
// until all ranks have agreed on it.

#include "plan/route_decisions.hpp"
#include "plan/route_race.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cohom {

/// What calls of a kind go by, besides native.
struct OwnWays {
  std::string codec;           ///< "thc"
  std::string_view algorithm;  ///< "direct", of the table
  // Of the third way.
  std::string third_codec = {};
  std::string_view third_algorithm = {};  ///< empty: there is none
};

class RouteRaces {
 public:
  struct Entry {
    RouteRace race;
    CallKind kind;
    std::size_t bytes;  ///< of the first vector
    OwnWays ways;
    std::optional<RouteRace::Decision> decision = std::nullopt;  ///< the last

    /// For the log: "thc, f32, about 1048576 bytes".
    [[nodiscard]] std::string name() const;
    /// "native", "thc by direct"; empty: there is no such way.
    [[nodiscard]] std::string name_of(RouteRace::Way way) const;
    /// The last winner's, as RouteDecisions has it. There is a decision.
    [[nodiscard]] std::string decided_way() const;
  };

  /// `decisions`: as COHOM_DECISIONS says, FILE, write:FILE or nothing.
  explicit RouteRaces(std::string decisions);

  /// Which way calls of a kind go by the file that was named, in its words; none: there is no file.
  /// Where it does not know them they go their own, which rank `rank` logs. `bytes`: of the vector.
  /// @throws Error(invalid_argument) as RouteDecisions::read(), and on rank 0, which is to write
  /// one, as check_writable()
  [[nodiscard]] std::optional<std::string> decided(const CallKind& kind, std::size_t bytes,
                                                   int rank);

  /// Whether a file says so for all kinds.
  [[nodiscard]] bool follow_file() const { return !read_from_.empty(); }

  /// The race of that kind with this third way, or with none. Lengths of one kind may differ in
  /// that, and all ranks must begin with as many ways, whatever calls each has made. Its address
  /// stays. Its names are those of whoever asks first, and `bytes` is what that has.
  Entry& of(const CallKind& kind, std::size_t bytes, const OwnWays& ways);

  /// A call that all ranks made in a race, and waited for, is over on this rank. None: this rank's
  /// time says nothing.
  void ended(Entry& entry, const RouteRace::Turn& turn, std::optional<double> seconds);
  /// Of that call, until it is agreed on.
  [[nodiscard]] std::optional<double> seconds() const;
  /// All ranks have agreed on its time, in a call that they all wait for; none: no rank has one.
  /// Rank `rank` logs what follows.
  void agree(std::optional<double> seconds, int rank);

  /// Of each kind, that of the decided race with the most calls.
  [[nodiscard]] RouteDecisions decisions() const;
  void for_each(const std::function<void(const Entry&)>& visit) const;
  /// There are no more calls. Rank 0 logs which way they went, and writes the decisions where it
  /// was told to; what keeps it from that is a warning.
  void finish(int rank) const noexcept;

 private:
  struct Ended {
    Entry* entry = nullptr;
    RouteRace::Turn turn;
    std::optional<double> seconds = std::nullopt;
  };

  std::string read_from_;  ///< a file; empty: none
  std::optional<std::string> write_to_;
  bool may_write_ = false;  ///< as far as could be seen
  std::optional<RouteDecisions> read_;
  /// By the algorithm of the third way, too.
  std::map<std::pair<CallKind, std::string>, Entry> entries_;
  std::optional<Ended> ended_;
};

}  // namespace cohom
