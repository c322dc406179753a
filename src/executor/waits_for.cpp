// What a call waits for that makes no progress: the ranks and the round that its error names.

#include "executor/executor.hpp"
#include "executor/messenger.hpp"
#include "executor/offloaded_rounds.hpp"
#include "executor/rank_reduction.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cohom {

namespace {

constexpr std::size_t named_ranks = 4;

/// "rank 3", "ranks 0, 3 and 2 more"
std::string named(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), named_ranks); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > named_ranks)
    text += " and " + std::to_string(ranks.size() - named_ranks) + " more";
  return text;
}

}  // namespace

std::string Messenger::waits_for(std::string_view aggregator) const {
  std::vector<int> senders, receivers;
  bool offloads = false;
  for (const MessageSequence& sequence : sequences_) {
    if (sequence.in_flight == 0) continue;
    const Step& step = schedule().steps[sequence.step];
    if (step.kind == StepKind::receive) senders.push_back(step.peer);
    if (step.kind == StepKind::send) receivers.push_back(step.peer);
    offloads |= step.kind == StepKind::offload;
  }
  if (!senders.empty()) return named(std::move(senders));
  if (offloads) return std::string(aggregator);
  return receivers.empty() ? "" : named(std::move(receivers)) + " to receive";
}

std::string RankReduction::waits_for() const {
  for (const Running& current : in_flight_) switch (current.stage) {
      case Stage::partial_arrives:
      case Stage::sum_leaves: return named({rank_ - 1});
      case Stage::partial_leaves:
      case Stage::sum_arrives: return named({rank_ + 1});
      case Stage::idle: break;
    }
  return {};
}

std::string OffloadedRounds::waits_for() const {
  if (repeating_)
    for (const Offloaded& round : rounds_)
      if (round.running && !round.by_ranks->waits_for().empty()) return round.by_ranks->waits_for();
  return outcome_ && outcome_->told() && !outcome_->done() ? outcome_->waits_for() : "";
}

std::string Executor::waits_for() const {
  const Aggregator* const sums = factory_.setup().aggregator;
  const std::string aggregator = sums == nullptr || sums->may_fail()
                                     ? "the aggregator"
                                     : std::string(sums->name()) + " on other ranks";
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    const RoundRun* const round = running(r);
    if (round == nullptr || round->done()) continue;
    std::string what = round->offloads() ? offloaded_.waits_for() : "";
    if (what.empty()) what = round->waits_for(aggregator);
    if (!what.empty()) return what + " in round " + std::string(factory_.traits(r).name);
  }
  const std::string rest = offloaded_.waits_for();
  return rest.empty() ? "its own work" : rest;
}

}  // namespace cohom
