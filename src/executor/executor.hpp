#pragma once
// Executor: the only loop over time. A resumable state machine that runs the rounds of one call.

#include "executor/chunking.hpp"
#include "executor/fallback_rounds.hpp"
#include "executor/offloaded_rounds.hpp"
#include "executor/round_factory.hpp"
#include "executor/round_run.hpp"
#include "executor/slice_crew.hpp"
#include "executor/workspace.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom {

class Executor {
 public:
  /// @throws Error(unsupported) when no aggregator can merge what the codec sends.
  explicit Executor(const ExecutorSetup& setup);
  ~Executor() { stop(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Whoever makes calls takes it before the first begin().
  [[nodiscard]] Workspace& workspace() { return workspace_; }
  /// What it has at the aggregator, where calls take a turn with reserve(): at MPI as soon as they
  /// exist, long before they may be known to be right; in a network when all ranks agreed to
  /// offload them.
  [[nodiscard]] OffloadedRounds& offloaded() { return offloaded_; }
  /// Whether messages or reductions of the call in flight lie in the user's memory.
  [[nodiscard]] bool uses_users_memory() const { return uses_users_memory_; }
  /// Starts a call. Nothing is sent before release(). `may_give_up`: words of messages that may go
  /// on after the call lie in the executor's memory, never in the user's.
  void begin(const CallBuffers& buffers, Channel& channel, Profile* profile = nullptr,
             bool may_give_up = false);
  /// Waits for the slices that workers run, and forgets what is left of the call: its buffers are
  /// the caller's again.
  void stop() noexcept { crew_.stop(); }
  /// Stops, and gives up its turn at the aggregator, used or not, and the memory of fallback
  /// rounds.
  void end();
  void release();
  /// Takes one completion of the channel.
  void complete(const Completion& completion);
  /// Takes in what workers have run, and runs or gives away at most one slice of work; false when
  /// there was nothing, and none is given away.
  bool advance();
  [[nodiscard]] bool done() const;

  /// Whether it is time to decide about the fallback rounds, once in a call: alike on all ranks in
  /// the order of their rounds, though not in time.
  [[nodiscard]] bool fallback_rounds_due() const;
  /// What this rank brings to the agreement of all ranks on them. Behind it they start, or are
  /// skipped. None: the codec has none, so nothing has to be agreed on.
  [[nodiscard]] std::optional<FallbackOffer> offer_fallback_rounds(const std::string& codec) {
    return fallback_.offer(codec);
  }
  void start_fallback_rounds();
  void skip_fallback_rounds() { fallback_.skip(); }

  /// Which rank and round it waits for; for messages.
  [[nodiscard]] std::string waits_for() const;

 private:
  [[nodiscard]] std::size_t payload() const { return factory_.payload(); }
  [[nodiscard]] RoundRun* running(std::size_t round) const;
  void begin_round(std::size_t number);
  void lend_users_memory(const RoundRun& round, const RoundTraits& traits, RoundCall& call);
  [[nodiscard]] bool goes_on_behind_call(const RoundRun& round) const;
  [[nodiscard]] bool decoding_waits_for_vector() const;
  void release_sends();
  [[nodiscard]] std::size_t pending_sends() const;

  // Slices of work, in the order of their priority.
  bool work();
  bool keep_wire_busy();
  bool encode_dependent_agreements();
  bool merge();
  bool encode_agreements();
  bool fill_wire();
  bool encode_for_merge();
  bool encode_behind_payload();
  bool decode();
  bool encode_ahead();

  /// Runs a slice of the first of these rounds that has one.
  template <class Work>
  bool any(std::size_t first, std::size_t end, Work&& slice) {
    for (std::size_t r = first; r < end; ++r)
      if (RoundRun* const round = running(r); round != nullptr && slice(*round)) return true;
    return false;
  }
  bool encode_payload_while_sends_below(std::size_t limit);

  SliceCrew crew_;
  RoundFactory factory_;
  Chunking chunking_;
  std::vector<std::unique_ptr<Chunking>> own_chunking_;  ///< of rounds after the payload
  Workspace workspace_;
  std::vector<std::unique_ptr<RoundRun>>
      rounds_;  ///< by round; fallback rounds null until they run
  OffloadedRounds offloaded_;
  FallbackRounds fallback_;

  struct CurrentCall {
    CallBuffers buffers;
    Channel* channel = nullptr;
    Profile* profile = nullptr;
    bool may_give_up = false;
  };
  CurrentCall call_;
  bool uses_users_memory_ = false;
  bool released_ = false;
  std::vector<bool> skipped_;  ///< by round
};

}  // namespace cohom
