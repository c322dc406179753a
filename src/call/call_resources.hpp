#pragma once
// CallResources: what a call takes before all ranks agree on it, and gives back at its end: plan,
// channel, route, buffers on a device, state.

#include "call/call_request.hpp"
#include "call/call_route.hpp"
#include "call/call_turn.hpp"
#include "call/kept_calls.hpp"
#include "call/native_call.hpp"
#include "memory/device_work.hpp"
#include "plan/device_plan.hpp"

#include <cohom/error.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace cohom {

class CallOwner;

/// Errors of this rank alone are the request's; the others learn of them when ranks agree.
class CallResources {
 public:
  /// The owner outlives the call until it is done.
  CallResources(CallOwner& owner, std::uint64_t number, CallRequest request);
  ~CallResources();
  CallResources(const CallResources&) = delete;
  CallResources& operator=(const CallResources&) = delete;

  /// All that can fail on this rank alone: it comes before the agreement, so that all ranks learn
  /// of it.
  void take();
  /// Encoding begins, once all ranks agree or before.
  void begin();
  /// The input may be read from now on; again and again until the call is complete.
  void take_input();
  /// All rounds are complete: whether the output is there, for whoever asks, or for the user's
  /// stream. Not `wanted`, as the sum is wrong: what is left of it stays unwritten.
  [[nodiscard]] bool write_output(bool wanted);
  /// The same where no device has to do with it.
  void write_hosts_output();
  /// What was encoded is encoded again, by another route.
  void begin_anew() { begun_ = false; }
  /// Of the codec, from now on.
  std::span<std::byte> take_state();

  /// Workers that a call which ends early may still have leave its buffers.
  void stop_workers();
  enum class End {
    alike,  ///< all ranks end, with this error or none
    early,  ///< this rank alone ends
    owed,   ///< the same, and others may have sent what it has not asked for yet
  };
  /// Gives everything back, or keeps it for as long as something of the call goes on: then `call`,
  /// which holds this, lives on. Errors are told to the owner's failures.
  void end(const std::optional<Error>& error, End end, const std::weak_ptr<EndedCall>& call);
  /// EndedCall::goes_on()
  [[nodiscard]] bool goes_on() noexcept;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] CallRequest& request() { return request_; }
  [[nodiscard]] const CallRequest& request() const { return request_; }
  [[nodiscard]] CallRoute& route() { return route_; }
  [[nodiscard]] const CallRoute& route() const { return route_; }
  [[nodiscard]] CallTurn& turn() { return turn_; }
  /// Null before take(), and once the call ended.
  [[nodiscard]] Channel* channel() const { return channel_.get(); }
  /// None: no call of the plan goes by MPI's own reduction.
  [[nodiscard]] std::optional<NativeCall>& native() { return native_; }
  /// None: all buffers are the host's.
  [[nodiscard]] std::optional<DeviceCall>& device() { return device_; }
  [[nodiscard]] const std::optional<DeviceCall>& device() const { return device_; }
  /// Of a call with buffers on a device, whoever does its work; or null.
  [[nodiscard]] DeviceWork* device_work() const;
  /// Nothing else of this rank has to move until the call is over.
  [[nodiscard]] bool waits() const { return waits_; }
  [[nodiscard]] bool begun() const { return begun_; }
  /// Whether calls of the plan may go by MPI's own reduction, in a race or all of them. Other
  /// ranks' may not.
  [[nodiscard]] bool may_sum_natively() const {
    return native_ && (turn_.has_race() || !request_.core->has_routes());
  }
  [[nodiscard]] bool is_in_place() const { return native_ && native_->is_in_place(); }
  /// What travels with the agreement; null: nothing, as in a native turn of a rank that waits.
  [[nodiscard]] ShortSum* short_sum() const {
    if (!request_.core || (waits_ && turn_.has_race() && may_go_natively())) return nullptr;
    return route_.is_third() ? request_.core->third_sum() : request_.core->short_sum();
  }
  /// Unless some rank has other things to do until the call is over.
  [[nodiscard]] bool may_go_natively() const { return native_ && turn_.may_go_natively(); }
  /// Once all ranks have agreed: they decide alike.
  [[nodiscard]] bool goes_natively() const {
    return may_go_natively() && (!request_.core->has_routes() || turn_.in_race());
  }

 private:
  void open_channel();
  void prepare();
  void prepare_of_plan(PlanCore& core);
  void begin_on_device();
  /// Where the call runs: the user's buffers, or their copies in the host's memory.
  [[nodiscard]] const void* input() const { return device_ ? device_->input() : request_.input; }
  [[nodiscard]] void* output() const { return device_ ? device_->output() : request_.output; }
  /// What codec and executor take for them.
  [[nodiscard]] const void* codec_input() const;
  [[nodiscard]] void* codec_output() const;
  [[nodiscard]] bool leaves_channel(bool owed);
  [[nodiscard]] bool keep(const std::weak_ptr<EndedCall>& call) noexcept;
  void give_back_plan();
  /// Of a call that is no allreduce; else null.
  [[nodiscard]] PlanPart* part() const { return request_.core ? request_.core->part() : nullptr; }

  CallOwner& owner_;
  std::uint64_t number_;
  CallRequest request_;
  CallRoute route_;
  std::unique_ptr<Channel> channel_;
  std::optional<NativeCall> native_;
  CallTurn turn_;
  std::optional<DeviceCall> device_;
  bool waits_ = false;
  bool begun_ = false;
  bool has_input_ = false;     ///< take_input()
  bool wrote_output_ = false;  ///< write_output(), but for the device
  bool ended_ = false;
};

}  // namespace cohom
