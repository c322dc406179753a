#include "plan/route_races.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

namespace cohom {

namespace {

std::string text_of(double seconds) {
  const bool is_short = seconds < 1;
  std::array<char, 32> text;
  const int length = std::snprintf(text.data(), text.size(), is_short ? "%.4g ms" : "%.4g s",
                                   is_short ? 1e3 * seconds : seconds);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// To two digits.
double rounded(double number) {
  if (number == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(number)) - 1);
  return std::round(number / unit) * unit;
}

/// "native, 1 ms (thc by direct: 2 ms, thc by ring: 3 ms)".
std::string times_of(const RouteRaces::Entry& entry, const RouteRace::Decision& decision) {
  std::string others;
  for (const RouteRace::Way way : RouteRace::all_ways) {
    if (way == decision.winner || entry.name_of(way).empty()) continue;
    others += (others.empty() ? "" : ", ") + entry.name_of(way) + ": " +
              text_of(decision.seconds_by(way));
  }
  return entry.name_of(decision.winner) + ", " + text_of(decision.seconds_by(decision.winner)) +
         " (" + others + ")";
}

/// "thc, f32, about 1048576 bytes: 5 calls by native, 90 by thc by direct".
std::string summary_of(const RouteRaces::Entry& entry) {
  std::string text = entry.name() + ":";
  for (const RouteRace::Way way : RouteRace::all_ways) {
    if (entry.name_of(way).empty()) continue;
    const bool first = way == RouteRace::all_ways.front();
    const std::uint64_t calls = entry.race.calls_by(way);
    text += (first ? " " + counted(calls, "call") : ", " + std::to_string(calls)) + " by " +
            entry.name_of(way);
  }
  if (entry.decision) text += "; in the end " + times_of(entry, *entry.decision);
  if (const auto saved = entry.race.saved())
    text += (*saved < 0 ? "; lost about " : "; saved about ") + text_of(rounded(std::abs(*saved))) +
            " beside native alone";
  return text;
}

std::string kind_name(const CallKind& kind, std::size_t bytes) {
  const bool other = kind.collective != ReductionKind::allreduce;
  return (other ? std::string(name_of(kind.collective)) + ", " : "") + kind.codec + ", " +
         std::string(name_of(kind.type)) + ", about " + std::to_string(bytes) + " bytes";
}

}  // namespace

std::string RouteRaces::Entry::name() const { return kind_name(kind, bytes); }

std::string RouteRaces::Entry::name_of(RouteRace::Way way) const {
  const auto named = [](const std::string& codec, std::string_view algorithm) {
    return algorithm.empty() ? std::string() : codec + " by " + std::string(algorithm);
  };
  if (way == RouteRace::Way::own) return named(ways.codec, ways.algorithm);
  if (way == RouteRace::Way::third) return named(ways.third_codec, ways.third_algorithm);
  return std::string(RouteDecisions::native);
}

std::string RouteRaces::Entry::decided_way() const {
  const RouteRace::Way winner = decision->winner;
  if (winner == RouteRace::Way::third)
    return word_for(ways.third_algorithm, ways.third_codec != kind.codec);
  return std::string(winner == RouteRace::Way::own ? RouteDecisions::own : RouteDecisions::native);
}

RouteRaces::RouteRaces(std::string decisions) {
  write_to_ = decisions_to_write(decisions);
  if (!write_to_) read_from_ = std::move(decisions);
}

std::optional<std::string> RouteRaces::decided(const CallKind& kind, std::size_t bytes, int rank) {
  if (write_to_ && rank == 0 && !may_write_) {
    RouteDecisions::check_writable(*write_to_);
    may_write_ = true;
  }
  if (read_from_.empty()) return std::nullopt;
  if (!read_) read_ = RouteDecisions::read(read_from_);
  if (auto way = read_->find(kind)) return way;
  log_once_for_all(rank, kind_name(kind, bytes) + ": not in " + read_from_ +
                             " (COHOM_DECISIONS), so that no such call goes by native");
  return std::string(RouteDecisions::own);
}

RouteRaces::Entry& RouteRaces::of(const CallKind& kind, std::size_t bytes, const OwnWays& ways) {
  std::pair key(kind, std::string(ways.algorithm) + " " + std::string(ways.third_algorithm));
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  // No rank knows its links yet, and with native none is slower than without this library.
  return entries_
      .emplace(std::move(key),
               Entry{.race = RouteRace(RouteRace::Way::native, !ways.third_algorithm.empty()),
                     .kind = kind,
                     .bytes = bytes,
                     .ways = ways})
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
  if (!logs_info()) return;
  log_once_for_all(rank, entry.name() + ": after " + std::to_string(decision->calls) + " calls " +
                             times_of(entry, *decision));
}

void RouteRaces::for_each(const std::function<void(const Entry&)>& visit) const {
  for (const auto& [key, entry] : entries_) visit(entry);
}

RouteDecisions RouteRaces::decisions() const {
  RouteDecisions decisions;
  std::map<CallKind, std::uint64_t> calls;
  for (const auto& [key, entry] : entries_) {
    std::uint64_t& most = calls[key.first];
    if (!entry.decision || entry.race.calls() <= most) continue;
    most = entry.race.calls();
    decisions.set(key.first, entry.decided_way());
  }
  return decisions;
}

void RouteRaces::finish(int rank) const noexcept {
  if (rank != 0) return;
  try {
    for (const auto& [key, entry] : entries_)
      if (entry.race.calls() != 0) log_each_for_all(rank, summary_of(entry));
    if (!write_to_) return;
    if (const RouteDecisions all = decisions(); !all.empty()) all.add_to(*write_to_);
  } catch (const std::exception& error) {
    try {
      warn_once(error.what());
    } catch (const std::exception&) {  // no memory to say so
    }
  }
}

}  // namespace cohom
