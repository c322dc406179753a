#pragma once
// OffloadedRounds: the rounds of one executor that an aggregator sums.
//
// Of an aggregator that may fail, a call ends with the agreement of all ranks on how its sums went.
// If any rank lacks one, all ranks give up the rest and sum these rounds once more, from rank to
// rank and from the contributions that are still there: the same words, whoever added them.

#include "agreement/outcome_agreement.hpp"
#include "executor/rank_reduction.hpp"
#include "executor/round_run.hpp"

#include <cohom/error.hpp>
#include <cohom/offload.hpp>
#include <cohom/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom {

class OffloadedRounds {
 public:
  struct Setup {
    Aggregator* aggregator = nullptr;  ///< null: no rounds are added
    const kernels::KernelTable* kernels = nullptr;
    int rank = 0;
    int ranks = 1;
    std::size_t message_bytes = 0;
  };
  explicit OffloadedRounds(const Setup& setup) : setup_(setup) {}

  /// Rounds come in the order of their numbers. `run` outlives this.
  void add(int round, Merge merge, RoundRun& run);

  /// Why the aggregator does not take these rounds; empty: it does.
  [[nodiscard]] std::string refusal() const;

  /// Takes the call's turn at the aggregator (Aggregator::open() says when).
  void reserve(std::uint64_t call);
  /// All ranks agreed that the call is right. `skipped`, by round: what it does without.
  void begin(Channel& channel, const std::vector<bool>& skipped);
  /// What sums the round now; null for one that is not offloaded.
  [[nodiscard]] Reduction* reduction(int round);
  /// Whether anything moved. @throws Error of an aggregator that cannot be done without.
  bool poll(Profile* profile);
  /// Whether complete() wants the channel's completion.
  [[nodiscard]] bool owns(std::uint64_t cookie) const;
  void complete(const Completion& completion);
  /// Whether the ranks have agreed on how it ended, and need each other's contributions no more.
  [[nodiscard]] bool outcome_agreed() const;
  /// Which rank it waits for besides the aggregator; empty when for none. For messages.
  [[nodiscard]] std::string waits_for() const;
  /// The call ends early on this rank. Whether no reduction goes on; those that do end with end().
  bool give_up() noexcept;
  /// Gives up the turn at the aggregator.
  void end();

  /// Bytes of the call's contributions that the aggregator was given.
  [[nodiscard]] std::uint64_t bytes_handed_over() const;
  /// Whether the ranks sum once more what the aggregator failed to.
  [[nodiscard]] bool repeated() const { return repeating_; }
  /// Why the aggregator failed this rank; none when it did not, or failed others first.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  struct Offloaded {
    int number = 0;
    Merge merge;
    RoundRun* run = nullptr;
    bool running = false;
    std::unique_ptr<Reduction> reduction;
    std::unique_ptr<RankReduction> by_ranks;  ///< of an aggregator that may fail
  };

  bool poll(Offloaded& round, Profile* profile);
  bool poll_network(Profile* profile);
  void fail(const Error& error);
  void tell_when_summed();
  void repeat();
  [[nodiscard]] Offloaded* find(int round);
  [[nodiscard]] Reduction* current(const Offloaded& round) const;

  Setup setup_;
  std::vector<Offloaded> rounds_;

  // Of the call in flight.
  Channel* channel_ = nullptr;
  std::optional<OutcomeAgreement> outcome_;  ///< none: nothing can fail, or nothing is offloaded
  bool repeating_ = false;
  std::optional<Error> failure_;
};

}  // namespace cohom
