#pragma once
// CallImpl: one allreduce in flight, from the agreement of all ranks to the last decoded element.

#include "agreement/call_agreement.hpp"
#include "call/call_request.hpp"
#include "call/call_route.hpp"
#include "call/kept_calls.hpp"
#include "call/native_call.hpp"
#include "call/stall_clock.hpp"
#include "call/state_buffer.hpp"
#include "plan/device_plan.hpp"
#include "plan/plan_core.hpp"

#include <cohom/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cohom {

class CallOwner;

class CallImpl final : public EndedCall, public std::enable_shared_from_this<CallImpl> {
 public:
  /// The owner outlives the call until it is done.
  CallImpl(CallOwner& owner, std::uint64_t number, CallRequest request);
  ~CallImpl() override;
  CallImpl(const CallImpl&) = delete;
  CallImpl& operator=(const CallImpl&) = delete;

  /// One step of the state machine; whether anything moved. `earlier_moved`: a call before it on
  /// the communicator did, whose turn may come first. Never throws: see error().
  bool advance(bool earlier_moved) noexcept;
  [[nodiscard]] bool done() const { return state_.load(std::memory_order_acquire) == State::done; }
  /// This rank's only part in the call is to tell the others of its error.
  [[nodiscard]] bool only_tells() const { return agreeing() && !request_.core; }
  /// Nobody knows yet whether all ranks make the call, or which route it takes.
  [[nodiscard]] bool agreeing() const { return state_ == State::agreeing; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool uses(const StateBuffer& state) const { return request_.state == &state; }

  [[nodiscard]] bool goes_on() noexcept override;

 private:
  enum class State { agreeing, running, agreeing_fallback, leaving, done };

  void open_channel();
  void prepare();
  void tell_error();
  void begin_on_device();
  void begin();
  std::span<std::byte> take_state();
  bool step();
  bool poll();
  bool leave_agreement();
  void complete_short();
  bool release();
  bool start_native();
  void take_turn();
  [[nodiscard]] bool may_go_natively() const;
  [[nodiscard]] bool goes_natively() const;
  bool advance_rounds();
  void agree_on_fallback_rounds();
  void leave_fallback_agreement();
  void complete_rounds();
  void leave(std::optional<Error> error);
  bool try_to_complete();
  [[nodiscard]] DeviceWork* device_work() const;
  [[nodiscard]] bool waits_for_users_stream() const;
  [[nodiscard]] std::string waits_for() const;
  [[nodiscard]] Error stalled() const;
  void complete(std::optional<Error> error);
  [[nodiscard]] bool keep() noexcept;
  void give_back_plan();

  CallOwner& owner_;
  std::uint64_t number_;
  CallRequest request_;
  CallRoute route_;
  std::optional<CallSignature> fallback_signature_;
  std::optional<CallAgreement> agreement_;  ///< before the channel, which may still write to it
  std::unique_ptr<Channel> channel_;
  std::optional<NativeCall> native_;  ///< none: no call of the plan goes by the native allreduce
  bool waits_ = false;  ///< nothing else of this rank has to move until the call is over
  std::optional<RouteRace::Turn> turn_;  ///< in the plan's race; none: the plan has none
  bool told_time_ = false;               ///< take_turn() was called
  bool in_race_ = false;  ///< all ranks make this call in their race, and wait for it
  std::chrono::steady_clock::time_point made_;  ///< of a call with a turn
  std::optional<DeviceCall> device_;            ///< none: all buffers are the host's
  std::optional<Error> own_error_;              ///< of this rank, which the others are to learn of
  std::optional<Error> error_;                  ///< what the call ends with, once done
  /// done is the last thing written: another thread may have advanced the call.
  std::atomic<State> state_ = State::agreeing;
  bool begun_ = false;
  bool waits_for_device_ = false;  ///< agreed on, but for the device
  StallClock stall_;
};

}  // namespace cohom
