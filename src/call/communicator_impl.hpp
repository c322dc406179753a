#pragma once
// CommunicatorImpl: what the library keeps for one communicator: calls in flight, plans, states.

#include "call/call.hpp"
#include "call/state_buffer.hpp"
#include "call/thread_progress.hpp"
#include "plan/offloading.hpp"
#include "plan/plan_cache.hpp"
#include "plan/plan_core.hpp"

#include <cohom/communicator.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohom {

/// One thread at a time may use a communicator, but any thread that started calls on it may advance
/// them (thread_progress.hpp): hence the lock. Functions take it themselves where they say so.
class CommunicatorImpl {
 public:
  CommunicatorImpl(std::shared_ptr<Transport> transport, Aggregators aggregators);

  /// Finishes the calls in flight: what remains of their requests then needs no communicator. In
  /// the thread that destroys it, after any other that is advancing its calls has let go of it.
  ~CommunicatorImpl();
  CommunicatorImpl(const CommunicatorImpl&) = delete;
  CommunicatorImpl& operator=(const CommunicatorImpl&) = delete;

  [[nodiscard]] Transport& transport() const { return *transport_; }
  /// @throws Error(invalid_argument) when COHOM_ISA is wrong: not in the constructor, where no other
  /// rank would learn of it.
  [[nodiscard]] PlanEnvironment environment();
  [[nodiscard]] PlanCache& plans() { return plans_; }
  /// By buffer name.
  using States = std::map<std::string, StateBuffer, std::less<>>;
  [[nodiscard]] States& states() { return states_; }
  /// While it lives no other thread advances the calls.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

  /// Calls in flight, but for those that only wait to tell an error that nobody may ever hear of.
  [[nodiscard]] std::size_t calls_in_flight();
  /// Blocks until there are none, and forgets the others.
  void finish_calls();

  /// Blocks until no call in flight uses the state. What the next one does with it depends on what
  /// they leave there; and which of them are over already differs from rank to rank.
  void finish_calls_with(const StateBuffer& state);

  /// The end of the aggregator at an address, made at its first use; null for an empty address where
  /// none is attached. @throws Error of connecting.
  Offloading* offloading(const std::string& address);
  [[nodiscard]] OffloadCounters offload_counters() const;
  /// Whether all calls before this one have been agreed on, and have their place at an aggregator.
  [[nodiscard]] bool turn_of(const CallImpl& call) const;

  /// Number of the next call: equal on all ranks, because calls are collective.
  [[nodiscard]] std::uint64_t next_call() const { return next_call_; }
  /// The exception being handled, as current_failure(). After an error of a device that it does not
  /// recover from no call with its buffers can be made on this communicator any more.
  Error take_failure(const std::string& doing);
  [[nodiscard]] const std::optional<Error>& device_failure() const { return device_failure_; }
  /// A call has given its channel back, or keeps it. `goes_on`: messages or reductions of it went on
  /// behind its error; then no later call can be made, which could meet them.
  void ended_with(const Error& error, bool goes_on);
  /// Keeps transport and fabric until MPI_Finalize, so that nothing else gets what others still send
  /// to this communicator: MPI gives the number of one that is freed to the next. False: there is no
  /// memory.
  bool keep_transport() noexcept;
  /// The same, and keeps a call that ended while it goes_on().
  [[nodiscard]] bool keep(std::shared_ptr<CallImpl> call) noexcept;
  /// Transport::failure(), and the error of the call that is to blame.
  [[nodiscard]] std::optional<Error> transport_failure() const;
  /// Takes the lock.
  std::shared_ptr<CallImpl> start(CallRequest request);
  /// Advances the calls in flight; whether anything moved. Takes the lock.
  bool progress();
  /// The same, but does nothing when another thread has the lock.
  bool progress_if_free();
  /// For threads that started calls.
  [[nodiscard]] const std::shared_ptr<ProgressHandle>& progress_handle() const {
    return progress_handle_;
  }
  /// Whether no call is in flight; false, too, when another thread has the lock.
  [[nodiscard]] bool idle();

  Tuning tuning;
  Profile* profile = nullptr;  ///< null: nobody wants to know

 private:
  std::shared_ptr<CallImpl> make_call(CallRequest request);

  std::shared_ptr<Transport> transport_;
  Aggregators aggregators_;
  std::map<std::string, Offloading> offloading_;  ///< by address
  std::optional<Error> device_failure_;
  bool transport_is_kept_ = false;
  bool call_goes_on_ = false;  ///< or did, behind its error
  /// What the first call said after which no other can be made.
  std::optional<std::string> broken_by_;
  std::uint64_t next_call_ = 0;
  PlanCache plans_;
  States states_;
  std::vector<std::shared_ptr<CallImpl>> in_flight_;
  std::recursive_mutex mutex_;
  std::shared_ptr<ProgressHandle> progress_handle_;
};

/// Lets go of kept calls that go on no more.
void release_kept_calls() noexcept;
/// The same, and of kept transports, if no call is left: in MPI_Finalize.
void release_kept_transports() noexcept;

}  // namespace cohom
