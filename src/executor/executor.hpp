#pragma once
// Executor: the only loop over time. A resumable state machine that runs the rounds of one call.

#include "agreement/call_signature.hpp"
#include "codecs/common/codec.hpp"
#include "executor/chunking.hpp"
#include "executor/offloaded_rounds.hpp"
#include "executor/round_run.hpp"
#include "kernels/table/kernel_table.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom {

/// Everything an executor is made of. What is pointed at outlives it.
struct ExecutorSetup {
  int rank = 0;
  int ranks = 1;
  std::size_t elements = 0;
  ElementType type = ElementType::f32;
  Codec* codec = nullptr;
  const kernels::KernelTable* kernels = nullptr;  ///< the processor's
  /// Where elements and the payload's words lie; the words of all other rounds are the host's.
  Memory* memory = &host_memory();
  const kernels::KernelTable* memory_kernels = nullptr;  ///< of `memory`; null: `kernels` are
  const AlgorithmRow* algorithm = nullptr;
  Aggregator* aggregator = nullptr;
  std::size_t segment = 0;  ///< elements
  std::size_t message_bytes = 0;
  Tuning tuning;
};

class Executor {
 public:
  /// @throws Error(unsupported) when no aggregator can merge what the codec sends.
  explicit Executor(const ExecutorSetup& setup);

  /// Where words lie on their way, those of late rounds excepted: in the host's memory, and those of the
  /// payload in another one.
  [[nodiscard]] std::span<std::byte> workspace() const { return workspace_.bytes(); }
  [[nodiscard]] std::span<std::byte> apart_workspace() const { return apart_workspace_.bytes(); }

  /// What it has at the aggregator, where calls take a place with reserve(): at MPI as soon as they
  /// exist, long before they may be known to be right; in a network when all ranks agreed to offload
  /// them.
  [[nodiscard]] OffloadedRounds& offloaded() { return offloaded_; }
  /// Whether messages or reductions of the call in flight lie in the user's memory.
  [[nodiscard]] bool uses_users_memory() const { return uses_users_memory_; }
  /// Starts a call. Nothing is sent before open(). `may_give_up`: words of messages that may go on
  /// behind the call lie in the executor's memory, never in the user's.
  void begin(const CallBuffers& buffers, Channel& channel, Profile* profile = nullptr,
             bool may_give_up = false);
  /// Gives up its place at the aggregator, used or not, and the memory of late rounds.
  void end();
  void open();
  /// Takes one completion of the channel.
  void complete(const Completion& completion);
  /// Runs at most one slice of work; false when there was none.
  bool advance();
  [[nodiscard]] bool finished() const;

  /// Whether it is time to decide about the late rounds, once in a call: alike on all ranks in the
  /// order of their rounds, though not in time.
  [[nodiscard]] bool late_rounds_due() const;
  /// Whether the codec has late rounds: then all ranks agree on how many elements each has.
  [[nodiscard]] bool has_late_rounds() const;
  /// Finds how many elements the late rounds of this call have, adds the numbers to `signature`,
  /// and takes memory for those that have some. Once all ranks agree, start or skip them.
  void prepare_late_rounds(CallSignature& signature);
  void start_late_rounds();
  void skip_late_rounds();

  /// Which rank and round it waits for; for messages.
  [[nodiscard]] std::string waits_for() const;

 private:
  const AlgorithmRow& algorithm_of(int round) const;
  [[nodiscard]] Chunking make_chunking(int round, const AlgorithmRow& algorithm,
                                       std::size_t elements) const;
  [[nodiscard]] RoundRun* running(std::size_t round) const;
  std::unique_ptr<RoundRun> make_round(int round, const AlgorithmRow& algorithm,
                                       const Chunking& chunking) const;
  void begin_round(std::size_t index);
  [[nodiscard]] bool goes_on_behind_call(const RoundRun& round) const;
  [[nodiscard]] bool offloads(const RoundTraits& traits) const;
  [[nodiscard]] const RoundTraits& traits_of(std::size_t round) const {
    return setup_.codec->rounds()[round]->traits();
  }
  void take_workspaces();
  void prepare_late_round(int round, CallSignature& signature);
  [[nodiscard]] bool lies_apart(int round) const {
    return round == payload_ && !setup_.memory->is_host();
  }
  bool work();
  [[nodiscard]] bool decoding_waits_for_vector() const;
  void release_sends();
  [[nodiscard]] std::size_t open_sends() const;

  ExecutorSetup setup_;
  int payload_ = 0;
  Chunking chunking_;
  std::vector<std::unique_ptr<Chunking>> own_chunking_;  ///< of rounds behind the payload
  MemoryArray<std::uint64_t> workspace_;
  MemoryArray<std::uint64_t>
      apart_workspace_;  ///< the payload's, where elements are not the host's
  std::vector<std::unique_ptr<RoundRun>> rounds_;  ///< by round; late ones null until they run
  OffloadedRounds offloaded_;
  bool late_wait_for_payload_ = false;

  // Of the call in flight.
  CallBuffers buffers_;
  Channel* channel_ = nullptr;
  Profile* profile_ = nullptr;
  bool may_give_up_ = false, uses_users_memory_ = false;
  bool open_ = false;
  bool late_decided_ = false;
  std::vector<bool> skipped_;  ///< by round
  struct Late {
    std::unique_ptr<Chunking> chunking;
    MemoryArray<std::uint64_t> workspace;
    std::unique_ptr<RoundRun> round;  ///< until it starts
  };
  std::vector<Late> late_;
};

}  // namespace cohom
