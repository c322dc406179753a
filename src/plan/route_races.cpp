#include "plan/route_races.hpp"

#include "base/log.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <utility>

namespace cohom {

namespace {

std::string milliseconds(double seconds) {
  std::array<char, 32> text;
  const int length = std::snprintf(text.data(), text.size(), "%.4g ms", 1e3 * seconds);
  return {text.data(), static_cast<std::size_t>(length)};
}

void log_decision(const RouteRaces::Entry& entry, const RouteRace::Decision& decision, int rank) {
  const bool native = decision.winner == RouteRace::Way::native;
  log_once_for_all(rank, entry.name + ": from call " + std::to_string(decision.calls + 1) + " on " +
                             (native ? "native" : entry.own) + ", " +
                             milliseconds(native ? decision.native_seconds : decision.own_seconds) +
                             " (" + (native ? entry.own : "native") + ": " +
                             milliseconds(native ? decision.own_seconds : decision.native_seconds) +
                             ")");
}

}  // namespace

int RouteRaces::size_class(std::size_t bytes) {
  if (bytes < 2) return 0;
  const int power = static_cast<int>(std::bit_width(bytes)) - 1;
  return 2 * power + static_cast<int>((bytes >> (power - 1)) & 1);
}

RouteRaces::Entry& RouteRaces::of(std::size_t bytes, ElementType type, const std::string& codec,
                                  const std::string& own) {
  const Kind kind{.codec = codec, .type = type, .size = size_class(bytes)};
  const auto found = entries_.find(kind);
  if (found != entries_.end()) return found->second;
  // No rank knows its links yet, and with native none is slower than without this library.
  return entries_
      .emplace(kind, Entry{.race = RouteRace(RouteRace::Way::native),
                           .name = codec + ", " + std::string(name_of(type)) + ", about " +
                                   std::to_string(bytes) + " bytes",
                           .own = own})
      .first->second;
}

void RouteRaces::ended(Entry& entry, const RouteRace::Turn& turn, double seconds) {
  ended_ = Ended{.entry = &entry, .turn = turn, .seconds = seconds};
}

std::optional<double> RouteRaces::seconds() const {
  return ended_ ? std::optional(ended_->seconds) : std::nullopt;
}

void RouteRaces::agree(std::optional<double> seconds, int rank) {
  if (!ended_ || !seconds) return;
  const Ended ended = *std::exchange(ended_, std::nullopt);
  if (const auto decision = ended.entry->race.measured(ended.turn, *seconds))
    log_decision(*ended.entry, *decision, rank);
}

}  // namespace cohom
