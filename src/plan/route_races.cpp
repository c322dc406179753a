#include "plan/route_races.hpp"

#include "base/log.hpp"

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

namespace cohom {

namespace {

constexpr std::string_view write_prefix = "write:";

std::string milliseconds(double seconds) {
  std::array<char, 32> text;
  const int length = std::snprintf(text.data(), text.size(), "%.4g ms", 1e3 * seconds);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// "native, 1 ms (thc by direct: 2 ms)".
std::string times_of(const RouteRaces::Entry& entry, const RouteRace::Decision& decision) {
  const bool native = decision.winner == RouteRace::Way::native;
  return (native ? "native" : entry.own) + ", " +
         milliseconds(native ? decision.native_seconds : decision.own_seconds) + " (" +
         (native ? entry.own : "native") + ": " +
         milliseconds(native ? decision.own_seconds : decision.native_seconds) + ")";
}

std::string summary_of(const RouteRaces::Entry& entry) {
  const std::uint64_t native = entry.race.calls_by(RouteRace::Way::native);
  std::string text = entry.name + ": " + std::to_string(native) + " calls by native and " +
                     std::to_string(entry.race.calls() - native) + " by " + entry.own;
  if (entry.decision) text += "; in the end " + times_of(entry, *entry.decision);
  return text;
}

std::string kind_name(const CallKind& kind, std::size_t bytes) {
  const bool other = kind.collective != ReductionKind::allreduce;
  return (other ? std::string(name_of(kind.collective)) + ", " : "") + kind.codec + ", " +
         std::string(name_of(kind.type)) + ", about " + std::to_string(bytes) + " bytes";
}

}  // namespace

RouteRaces::RouteRaces(std::string decisions) {
  if (decisions.starts_with(write_prefix) && decisions.size() > write_prefix.size())
    write_to_ = decisions.substr(write_prefix.size());
  else
    read_from_ = std::move(decisions);
}

std::optional<RouteRace::Way> RouteRaces::decided(const CallKind& kind, std::size_t bytes,
                                                  int rank) {
  if (read_from_.empty()) return std::nullopt;
  if (!read_) read_ = RouteDecisions::read(read_from_);
  if (const auto way = read_->find(kind)) return way;
  log_once_for_all(rank, kind_name(kind, bytes) + ": not in " + read_from_ +
                             " (COHOM_DECISIONS), so that no such call goes by native");
  return RouteRace::Way::own;
}

RouteRaces::Entry& RouteRaces::of(const CallKind& kind, std::size_t bytes, const std::string& own) {
  const auto found = entries_.find(kind);
  if (found != entries_.end()) return found->second;
  // No rank knows its links yet, and with native none is slower than without this library.
  return entries_
      .emplace(kind, Entry{.race = RouteRace(RouteRace::Way::native),
                           .name = kind_name(kind, bytes),
                           .own = own})
      .first->second;
}

void RouteRaces::ended(Entry& entry, const RouteRace::Turn& turn, std::optional<double> seconds) {
  ended_ = Ended{.entry = &entry, .turn = turn, .seconds = seconds};
}

std::optional<double> RouteRaces::seconds() const {
  return ended_ ? ended_->seconds : std::nullopt;
}

void RouteRaces::agree(std::optional<double> seconds, int rank) {
  if (!ended_ || !seconds) return;
  const Ended ended = *std::exchange(ended_, std::nullopt);
  Entry& entry = *ended.entry;
  const auto decision = entry.race.measured(ended.turn, *seconds);
  if (!decision) return;
  entry.decision = decision;
  log_once_for_all(rank, entry.name + ": from call " + std::to_string(decision->calls + 1) +
                             " on " + times_of(entry, *decision));
}

void RouteRaces::for_each(const std::function<void(const CallKind&, const Entry&)>& visit) const {
  for (const auto& [kind, entry] : entries_) visit(kind, entry);
}

RouteDecisions RouteRaces::decisions() const {
  RouteDecisions decisions;
  for (const auto& [kind, entry] : entries_)
    if (entry.decision) decisions.set(kind, entry.decision->winner);
  return decisions;
}

void RouteRaces::finish(int rank) const noexcept {
  if (rank != 0) return;
  try {
    for (const auto& [kind, entry] : entries_)
      if (entry.race.calls() != 0) log_once_for_all(rank, summary_of(entry));
    if (write_to_.empty()) return;
    if (const RouteDecisions all = decisions(); !all.empty()) all.add_to(write_to_);
  } catch (const std::exception& error) {
    warn_once(error.what());
  }
}

}  // namespace cohom
