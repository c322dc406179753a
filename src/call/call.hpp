#pragma once
// CallImpl: one allreduce in flight, from the agreement of all ranks to the last decoded element.

#include "agreement/call_agreement.hpp"
#include "call/stall_clock.hpp"
#include "call/state_buffer.hpp"
#include "plan/device_plan.hpp"
#include "plan/plan_core.hpp"

#include <cohom/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cohom {

class CommunicatorImpl;

/// What one rank brings to a call.
struct CallRequest {
  CallSignature signature;
  std::optional<Error> error;      ///< this rank cannot make the call
  std::shared_ptr<PlanCore> core;  ///< null: only agree
  const void* input = nullptr;
  void* output = nullptr;
  StateBuffer* state = nullptr;  ///< outlives the call; null: the codec keeps none
  std::uint64_t step = 0;
  std::optional<kernels::DeviceStream> stream = std::nullopt;  ///< the user's; none: any
  double timeout = 0;  ///< seconds without progress; 0: no limit
};

class CallImpl : public std::enable_shared_from_this<CallImpl> {
 public:
  CallImpl(CommunicatorImpl& communicator, std::uint64_t number, CallRequest request);
  ~CallImpl();
  CallImpl(const CallImpl&) = delete;
  CallImpl& operator=(const CallImpl&) = delete;

  /// One step of the state machine; whether anything moved. `earlier_moved`: a call before it on
  /// the communicator did, whose turn may come first. Never throws: see error().
  bool advance(bool earlier_moved) noexcept;
  [[nodiscard]] bool done() const { return state_.load(std::memory_order_acquire) == State::done; }
  /// This rank's only part in the call is to tell the others of its error.
  [[nodiscard]] bool only_tells() const { return agreeing() && !request_.core; }
  /// Nobody knows yet whether all ranks make the call, or which way it goes.
  [[nodiscard]] bool agreeing() const { return state_ == State::agreeing; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool uses(const StateBuffer& state) const { return request_.state == &state; }

  /// It ended with an error on this rank. Whether messages or reductions of it go on all the same;
  /// asked for the first time, it gives them seconds to end.
  [[nodiscard]] bool goes_on() noexcept;

  /// Blocks until done(), advancing all calls that this thread started on any communicator.
  void finish_quietly();
  /// The same; throws error().
  void wait();
  /// Advances calls once; throws error() when this one is done with one.
  bool test();

 private:
  enum class State { agreeing, running, agreeing_late, leaving, done };

  void leave_given_up_plan();
  void open_channel(Transport& transport);
  void prepare();
  bool step();
  bool poll();
  void begin();
  bool open();
  void take_agreed_way();
  void decide_late_rounds();
  void leave(std::optional<Error> error);
  bool try_to_finish();
  [[nodiscard]] Offloads own_word() const;
  void begin_on_device();
  [[nodiscard]] DeviceWork* device_work() const;
  [[nodiscard]] bool waits_for_users_stream() const;
  [[nodiscard]] std::string waits_for() const;
  [[nodiscard]] Error stalled() const;
  void finish(std::optional<Error> error);
  [[nodiscard]] bool keep() noexcept;
  void give_back_plan();

  CommunicatorImpl& communicator_;
  std::uint64_t number_;
  CallRequest request_;
  Executor* executor_ = nullptr;            ///< of the way the call goes, as far as is known
  bool offloads_ = false;                   ///< as far as this rank knows
  std::optional<CallAgreement> agreement_;  ///< before the channel, which may still write to it
  std::unique_ptr<Channel> channel_;
  std::optional<DeviceCall> device_;  ///< none: all buffers are the host's
  std::optional<Error> own_error_;    ///< of this rank, which the others are to learn of
  std::optional<Error> error_;        ///< what the call ends with, once done
  /// done is the last thing written: another thread may have advanced the call.
  std::atomic<State> state_ = State::agreeing;
  bool begun_ = false;
  StallClock stall_;
};

}  // namespace cohom
