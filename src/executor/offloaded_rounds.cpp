#include "executor/offloaded_rounds.hpp"

#include "base/failure.hpp"
#include "base/phase_timer.hpp"
#include "base/tags.hpp"

#include <algorithm>
#include <array>

namespace cohom {

void OffloadedRounds::add(int round, Merge merge, RoundRun& run) {
  Offloaded& added = rounds_.emplace_back();
  added.number = round;
  added.merge = merge;
  added.run = &run;
  // Its memory is there before any call, so that no rank lacks it when it is needed.
  if (setup_.aggregator->may_fail())
    added.by_ranks =
        std::make_unique<RankReduction>(*setup_.kernels, setup_.rank, setup_.ranks, round,
                                        setup_.message_bytes, run.longest_reduction());
}

std::string OffloadedRounds::refusal() const {
  if (setup_.aggregator == nullptr) return {};
  const std::string name(setup_.aggregator->name());
  for (const Offloaded& round : rounds_) {
    if (!setup_.aggregator->supports(round.merge))
      return "not supported: " + name + " does not merge by " + to_string(round.merge);
    const std::size_t words = round.run->longest_reduction();
    if (words > setup_.aggregator->max_words())
      return "not supported: " + name + " sums at most " +
             std::to_string(setup_.aggregator->max_words()) + " words at once, and a segment has " +
             std::to_string(words);
  }
  return {};
}

void OffloadedRounds::reserve(std::uint64_t call) {
  failure_.reset();
  try {
    for (Offloaded& round : rounds_)
      round.reduction = setup_.aggregator->open(call, round.number, round.run->reductions());
  } catch (...) {
    if (!setup_.aggregator->may_fail()) throw;
    failure_ = current_failure("the aggregator");
    for (Offloaded& round : rounds_) round.reduction.reset();
  }
}

void OffloadedRounds::begin(Channel& channel, const std::vector<bool>& skipped) {
  channel_ = &channel;
  outcome_.reset();
  repeating_ = false;
  bool any = false;
  for (Offloaded& round : rounds_) {
    round.running = !skipped[std::size_t(round.number)];
    any |= round.running && round.run->reductions() != 0;
  }
  if (any && setup_.aggregator->may_fail()) outcome_.emplace(channel, setup_.rank, setup_.ranks);
  if (!outcome_ || !failure_) return;
  outcome_->tell(true);
  repeat();
}

Reduction* OffloadedRounds::reduction(int round) {
  Offloaded* const found = find(round);
  return found == nullptr ? nullptr : current(*found);
}

Reduction* OffloadedRounds::current(const Offloaded& round) const {
  return repeating_ ? round.by_ranks.get() : round.reduction.get();
}

OffloadedRounds::Offloaded* OffloadedRounds::find(int number) {
  const auto found = std::ranges::find(rounds_, number, &Offloaded::number);
  return found == rounds_.end() ? nullptr : &*found;
}

bool OffloadedRounds::poll(Profile* profile) {
  bool moved = poll_network(profile);
  if (outcome_ && outcome_->failed() && !repeating_) {
    repeat();
    moved = true;
  }
  tell_when_summed();
  return moved;
}

bool OffloadedRounds::poll_network(Profile* profile) {
  bool moved = false;
  try {
    for (Offloaded& round : rounds_) moved |= poll(round, profile);
  } catch (const Error& error) {
    if (!outcome_ || repeating_) throw;
    fail(error);
    moved = true;
  }
  return moved;
}

bool OffloadedRounds::poll(Offloaded& round, Profile* profile) {
  // What is complete may be told of a network that is gone by now.
  if (!round.running || (round.run->summed() && !repeating_)) return false;
  std::array<Completion, 32> done;
  end_phase(profile, Phase::other);
  const std::size_t count = current(round)->poll(done);
  end_phase(profile, count != 0 ? Phase::wire : Phase::wait);
  for (std::size_t i = 0; i < count; ++i) round.run->complete(done[i]);
  return count != 0;
}

void OffloadedRounds::fail(const Error& error) {
  failure_ = error;
  if (!outcome_->told()) outcome_->tell(true);
}

void OffloadedRounds::tell_when_summed() {
  if (!outcome_ || outcome_->told()) return;
  const bool summed = std::ranges::all_of(
      rounds_, [](const Offloaded& round) { return !round.running || round.run->summed(); });
  if (summed) outcome_->tell(false);
}

/// First all the network's reductions go: one may still write to sums.
void OffloadedRounds::repeat() {
  repeating_ = true;
  for (Offloaded& round : rounds_) round.reduction.reset();
  for (Offloaded& round : rounds_) {
    if (!round.running) continue;
    round.by_ranks->begin(*channel_);
    round.run->repeat_reductions(*round.by_ranks);
  }
}

bool OffloadedRounds::owns(std::uint64_t cookie) const {
  if (OutcomeAgreement::owns(cookie)) return true;
  const int round = round_of_cookie(cookie);
  return repeating_ && std::ranges::find(rounds_, round, &Offloaded::number) != rounds_.end();
}

void OffloadedRounds::complete(const Completion& completion) {
  if (OutcomeAgreement::owns(completion.cookie))
    outcome_->complete(completion);
  else
    find(round_of_cookie(completion.cookie))->by_ranks->complete(completion);
}

bool OffloadedRounds::outcome_agreed() const {
  return !outcome_ || (outcome_->told() && outcome_->done() && (repeating_ || !outcome_->failed()));
}

std::uint64_t OffloadedRounds::bytes_handed_over() const {
  std::uint64_t bytes = 0;
  for (const Offloaded& round : rounds_)
    if (round.running) bytes += 8 * round.run->words_handed_over();
  return bytes;
}

bool OffloadedRounds::give_up() noexcept {
  bool over = true;
  for (Offloaded& round : rounds_) {
    if (!round.reduction) continue;
    if (round.reduction->give_up())
      round.reduction.reset();
    else
      over = false;
  }
  return over;
}

void OffloadedRounds::end() {
  for (Offloaded& round : rounds_) round.reduction.reset();
  outcome_.reset();
}

}  // namespace cohom
