#pragma once
// CallImpl: one allreduce in flight, from the agreement of all ranks to the last decoded element.

#include "agreement/call_agreement.hpp"
#include "call/call_request.hpp"
#include "call/call_resources.hpp"
#include "call/kept_calls.hpp"
#include "call/stall_clock.hpp"
#include "call/state_buffer.hpp"

#include <cohom/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cohom {

class CallOwner;

class CallImpl final : public EndedCall, public std::enable_shared_from_this<CallImpl> {
 public:
  /// The owner outlives the call until it is done.
  CallImpl(CallOwner& owner, std::uint64_t number, CallRequest request);
  CallImpl(const CallImpl&) = delete;
  CallImpl& operator=(const CallImpl&) = delete;
  ~CallImpl() override = default;

  /// One step of the state machine; whether anything moved. `earlier_moved`: a call before it on
  /// the communicator did, whose turn may come first. Never throws: see error().
  bool advance(bool earlier_moved) noexcept;
  [[nodiscard]] bool done() const { return state_.load(std::memory_order_acquire) == State::done; }
  /// This rank's only part in the call is to tell the others of its error.
  [[nodiscard]] bool only_tells() const { return agreeing() && !resources_.request().core; }
  /// Nobody knows yet whether all ranks make the call, or which route it takes.
  [[nodiscard]] bool agreeing() const { return state_ == State::agreeing; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::uint64_t number() const { return resources_.number(); }
  [[nodiscard]] bool uses(const StateBuffer& state) const {
    return resources_.request().state == &state;
  }

  [[nodiscard]] bool goes_on() noexcept override { return resources_.goes_on(); }

 private:
  enum class State { agreeing, running, agreeing_fallback, leaving, done };

  void agree();
  void throw_what_others_do_not_learn();
  void tell_error();
  bool step();
  bool poll();
  bool leave_agreement();
  void complete_short();
  bool release();
  bool start_native();
  bool advance_rounds();
  void agree_on_fallback_rounds();
  void leave_fallback_agreement();
  void complete_rounds();
  void leave(std::optional<Error> error);
  bool try_to_complete();
  [[nodiscard]] Executor* executor() const { return resources_.route().executor(); }
  [[nodiscard]] bool waits_for_users_stream() const;
  [[nodiscard]] std::string waits_for() const;
  [[nodiscard]] Error stalled() const;
  void complete(std::optional<Error> error);

  CallOwner& owner_;
  std::optional<CallSignature> fallback_signature_;
  std::optional<CallAgreement> own_agreement_;  ///< before the channel, which may still write to it
  CallAgreement* agreement_ = nullptr;          ///< that, or the one which the request began
  CallResources resources_;
  std::optional<Error> own_error_;  ///< of this rank, which the others are to learn of
  std::optional<Error> error_;      ///< what the call ends with, once done
  /// done is the last thing written: another thread may have advanced the call.
  std::atomic<State> state_ = State::agreeing;
  bool waits_for_device_ = false;  ///< agreed on, but for the device
  StallClock stall_;
};

}  // namespace cohom
