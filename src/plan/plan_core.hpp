#pragma once
// PlanCore: everything that is decided and allocated for one kind of call, before any message.

#include "agreement/call_agreement.hpp"
#include "agreement/short_sum.hpp"
#include "executor/executor.hpp"
#include "memory/placement.hpp"
#include "plan/device_plan.hpp"
#include "plan/plan_codec.hpp"
#include "plan/plan_environment.hpp"
#include "plan/plan_options.hpp"
#include "plan/plan_part.hpp"
#include "plan/plan_route.hpp"
#include "plan/plan_shape.hpp"
#include "plan/route_choice.hpp"
#include "plan/route_races.hpp"

#include <cohom/options.hpp>
#include <cohom/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cohom {

class PlanCore {
 public:
  /// Local. @throws Error for anything that is wrong with the options.
  PlanCore(const PlanEnvironment& environment, const PlanShape& shape, const PlanOptions& options,
           const Placement& placement = {});
  ~PlanCore();
  PlanCore(const PlanCore&) = delete;
  PlanCore& operator=(const PlanCore&) = delete;

  [[nodiscard]] const PlanShape& shape() const { return shape_; }
  [[nodiscard]] ElementType type() const { return shape_.type; }
  /// Of the vector that codec and executor see.
  [[nodiscard]] std::size_t elements() const { return count_; }
  /// Of what is no allreduce; else null.
  [[nodiscard]] PlanPart* part() { return part_ ? &*part_ : nullptr; }
  /// Null unless calls go to an aggregator in the network.
  [[nodiscard]] Offloading* offloading() const { return offloading_; }
  /// MPI's, where it sums for all calls; else null.
  [[nodiscard]] Aggregator* native_reductions() const {
    return offloading_ == nullptr ? route_.aggregator : nullptr;
  }
  /// Sums calls that go by algorithm native; null: none does.
  [[nodiscard]] NativeSums* native_sums() const { return native_; }
  /// Whether calls may go another way.
  [[nodiscard]] bool has_executor() const { return route_.executor != nullptr; }
  /// Which way they go, where there are both; else null.
  [[nodiscard]] RouteRaces::Entry* race() const { return race_; }
  /// Null unless a buffer lies on a device.
  [[nodiscard]] DevicePlan* device() const { return device_.get(); }
  /// The device's, where calls run there; else null.
  [[nodiscard]] const std::shared_ptr<DeviceWork>& device_work() const;
  /// Runs the calls; where there is offloading(), those that all ranks can offload.
  [[nodiscard]] Executor& executor() { return *route_.executor; }
  /// Runs the others.
  [[nodiscard]] Executor& other_executor() { return *other_route_.executor; }
  /// For vectors that travel with the agreement of their calls; else null.
  [[nodiscard]] ShortSum* short_sum() const { return short_sum_.get(); }
  [[nodiscard]] std::size_t state_bytes() const { return description_.state_bytes; }
  /// What a native sum becomes: divided, of a mean. The two may be the same memory.
  void finish(const void* sum, void* output) const;
  /// Whether the codec that was asked for keeps state, though this vector may go without it.
  [[nodiscard]] bool wants_state() const { return wants_state_; }
  [[nodiscard]] const std::string& asked_codec() const { return asked_codec_; }
  /// What messages of a call go through.
  [[nodiscard]] std::unique_ptr<Channel> wrap(std::unique_ptr<Channel> channel) const;
  [[nodiscard]] const PlanDescription& description() const { return description_; }
  /// What must be equal on all ranks; callers add what belongs to the call.
  void add_to_signature(CallSignature& signature) const;
  /// Of that, what depends on the buffers of a call.
  void add_memory_to_signature(CallSignature& signature) const;
  /// Whether a thread of the library advances calls.
  [[nodiscard]] bool has_own_thread() const { return options_.own_thread; }
  /// Names what a state belongs to: the same text, the same state layout.
  [[nodiscard]] const std::string& state_key() const { return state_key_; }

  /// Of its calls. Who makes them writes what they have in common, and for each call the last
  /// field.
  CallSignature call_signature;
  bool in_flight = false;
  /// A call gave up whose messages may still use its memory: there are no more calls.
  bool given_up = false;

 private:
  std::unique_ptr<Codec> align_part(PlanCodec& codec, std::unique_ptr<Codec> made);
  void choose_parts(const PlanCodec& codec, const Placement& placement, RouteChoice& choice);
  void move_to_device(const Transport& transport, const Placement& placement, bool there);
  [[nodiscard]] CallKind kind(int ranks) const;
  void log_route(int rank) const;
  void make_routes(const PlanEnvironment& environment, const PlanCodec& codec,
                   std::unique_ptr<Codec> first, const RouteChoice& choice);
  void describe_path(const Transport& transport);
  void make_short_sum(const PlanEnvironment& environment, const AlgorithmRow& algorithm);

  PlanShape shape_;
  std::optional<PlanPart> part_;
  bool decodes_parts_ = false;  ///< sums of others' parts go nowhere
  std::size_t count_;           ///< elements()
  ElementType type_;
  std::uint64_t divisor_;  ///< of the sum
  const kernels::KernelTable& kernels_;
  PlanOptions options_;  ///< as asked for
  std::size_t message_bytes_;
  bool wants_state_ = false;
  std::string asked_codec_, state_key_;
  std::unique_ptr<DevicePlan> device_;  ///< outlives codecs and executors
  bool reaches_device_ = false;         ///< the transport does, which then takes words from there
  PlanDescription description_;
  Offloading* offloading_ = nullptr;
  NativeSums* native_ = nullptr;
  RouteRaces::Entry* race_ = nullptr;
  PlanRoute route_, other_route_;
  std::unique_ptr<ShortSum> short_sum_;
};

}  // namespace cohom
