#pragma once
// CommunicatorImpl: what the library keeps for one communicator: calls in flight, plans, states.

#include "call/board_looks.hpp"
#include "call/call.hpp"
#include "call/call_failures.hpp"
#include "call/call_owner.hpp"
#include "call/progress_thread.hpp"
#include "call/state_buffer.hpp"
#include "call/thread_progress.hpp"
#include "plan/offloading.hpp"
#include "plan/plan_cache.hpp"
#include "plan/plan_core.hpp"
#include "plan/route_races.hpp"

#include <cohom/communicator.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace cohom {

/// One thread at a time may use a communicator, but any thread that started calls on it may advance
/// them (thread_progress.hpp): hence the lock. Functions take it themselves where they say so.
class CommunicatorImpl final : public CallOwner, public CallQueue {
 public:
  CommunicatorImpl(std::shared_ptr<Transport> transport, Aggregators aggregators);

  /// Finishes the calls in flight: what remains of their requests then needs no communicator. In
  /// the thread that destroys it, after any other that is advancing its calls has let go of it.
  ~CommunicatorImpl();
  CommunicatorImpl(const CommunicatorImpl&) = delete;
  CommunicatorImpl& operator=(const CommunicatorImpl&) = delete;

  [[nodiscard]] Transport& transport() const override { return *transport_; }
  [[nodiscard]] CallBoard* board() const override { return board_; }
  [[nodiscard]] const Topology& topology() const { return *place_.topology; }
  /// @throws Error(invalid_argument) when COHOM_ISA is wrong: not in the constructor, where no
  /// other rank would learn of it.
  [[nodiscard]] PlanEnvironment environment();
  /// What calls take for options that say nothing.
  [[nodiscard]] const OptionDefaults& defaults() const { return defaults_; }
  [[nodiscard]] PlanCache& plans() { return plans_; }
  /// By buffer name.
  using States = std::map<std::string, StateBuffer, std::less<>>;
  [[nodiscard]] States& states() { return states_; }
  /// While it lives no other thread advances the calls.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

  [[nodiscard]] std::size_t calls_in_flight() override;
  void complete_calls() override;

  /// Blocks until no call in flight uses the state. What the next one does with it depends on what
  /// they leave there; and which of them are over already differs from rank to rank.
  void complete_calls_with(const StateBuffer& state);

  /// The end of the aggregator at an address, made at its first use; null for an empty address
  /// where none is attached. @throws Error of connecting.
  Offloading* offloading(const std::string& address);
  [[nodiscard]] OffloadCounters offload_counters() const;
  [[nodiscard]] std::uint64_t native_calls() const { return counters_.native_calls; }
  void count_native_call() override { ++counters_.native_calls; }
  [[nodiscard]] std::uint64_t third_calls() const { return counters_.third_calls; }
  [[nodiscard]] std::uint64_t bypassed_calls() const { return counters_.bypassed_calls; }
  void count_call(const PlanCore& plan, bool third) override;
  [[nodiscard]] bool has_turn(std::uint64_t number) const override;
  [[nodiscard]] bool nothing_else_moves() const override;
  [[nodiscard]] RouteRaces& races() override { return races_; }

  /// Number of the next call: equal on all ranks, because calls are collective.
  [[nodiscard]] std::uint64_t next_call() const { return counters_.next_call; }
  [[nodiscard]] CallFailures& failures() override { return failures_; }
  /// Takes the lock. Null: the call was made at once. @throws Error as CallAtOnce does
  std::shared_ptr<CallImpl> start(CallRequest request);
  bool progress() override;
  bool progress_if_free() override;
  [[nodiscard]] const std::shared_ptr<ProgressHandle>& progress_handle() const override {
    return progress_.handle;
  }
  [[nodiscard]] bool idle() override;
  void waited() override;
  [[nodiscard]] bool has_own_core() const override { return place_.has_own_core; }
  [[nodiscard]] BoardLooks& board_looks() override { return place_.board_looks; }
  [[nodiscard]] std::span<Completion> completions() override { return completions_; }
  [[nodiscard]] Profile* profile() const override { return profile_; }
  /// Outlives the calls from now on.
  void set_profile(Profile* profile) { profile_ = profile; }

  Tuning tuning;

 private:
  std::shared_ptr<CallImpl> make_call(CallRequest request);
  void advance_in_own_thread(CallRequest& request);
  void log_calls() const noexcept;

  struct Place {
    std::shared_ptr<const Topology> topology;  ///< never null
    bool has_own_core = false;
    BoardLooks board_looks = {};
  };
  struct AggregatorEnds {
    Aggregators given;
    std::map<std::string, Offloading> in_network = {};  ///< by address
  };
  struct Counters {
    std::uint64_t next_call = 0, native_calls = 0, third_calls = 0, bypassed_calls = 0;
  };
  struct Progress {
    std::shared_ptr<ProgressHandle> handle;
    std::shared_ptr<ProgressThread> thread = nullptr;  ///< once a call asked for it
  };

  std::shared_ptr<Transport> transport_;
  CallBoard* board_;  ///< the transport's
  Place place_;
  AggregatorEnds aggregators_;
  OptionDefaults defaults_ = OptionDefaults::of_environment();
  CallFailures failures_;
  Counters counters_;
  RouteRaces races_{defaults_.decisions};  ///< plans refer to its entries
  std::recursive_mutex mutex_;
  PlanCache plans_{mutex_};
  States states_;
  std::vector<std::shared_ptr<CallImpl>> in_flight_;
  Progress progress_;
  std::array<Completion, 32> completions_{};
  Profile* profile_ = nullptr;
};

}  // namespace cohom
