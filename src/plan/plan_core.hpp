#pragma once
// PlanCore: everything that is decided and allocated for one kind of call, before any message.

#include "agreement/call_agreement.hpp"
#include "agreement/short_sum.hpp"
#include "memory/placement.hpp"
#include "plan/device_plan.hpp"
#include "plan/plan_codec.hpp"
#include "plan/plan_environment.hpp"
#include "plan/plan_options.hpp"
#include "plan/plan_race.hpp"
#include "plan/plan_routes.hpp"
#include "plan/plan_vector.hpp"
#include "plan/route_choice.hpp"

#include <cohom/options.hpp>
#include <cohom/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cohom {

class PlanCore {
 public:
  /// Local, without the memory of calls, which routes() take. @throws Error for anything that is
  /// wrong with the options.
  PlanCore(const PlanEnvironment& environment, const PlanShape& shape, const PlanOptions& options,
           const Placement& placement = {});
  ~PlanCore();
  PlanCore(const PlanCore&) = delete;
  PlanCore& operator=(const PlanCore&) = delete;

  [[nodiscard]] const PlanShape& shape() const { return vector_.shape; }
  [[nodiscard]] ElementType type() const { return vector_.shape.type; }
  /// Of the vector that codec and executor see.
  [[nodiscard]] std::size_t elements() const { return vector_.count; }
  /// Of what is no allreduce; else null.
  [[nodiscard]] PlanPart* part() { return vector_.part ? &*vector_.part : nullptr; }
  /// Null unless calls go to an aggregator in the network.
  [[nodiscard]] Offloading* offloading() const { return offloading_; }
  /// MPI's, where it sums for all calls; else null.
  [[nodiscard]] Aggregator* native_reductions() const {
    return offloading_ == nullptr ? routes_.first.aggregator : nullptr;
  }
  /// Sums calls that go by algorithm native; null: none does.
  [[nodiscard]] NativeSums* native_sums() const { return race_.sums; }
  /// Whether calls may go another way than natively.
  [[nodiscard]] bool has_routes() const { return routes_.first.exists(); }
  /// Which way they go, where they race; else null.
  [[nodiscard]] RouteRaces::Entry* race() const { return race_.entry; }
  /// Null unless a buffer lies on a device.
  [[nodiscard]] DevicePlan* device() const { return device_.get(); }
  /// The device's, where calls run there; else null.
  [[nodiscard]] const std::shared_ptr<DeviceWork>& device_work() const;
  /// These ways.
  [[nodiscard]] PlanRoutes& routes() { return routes_; }
  /// Whether, between calls, it can become() a plan of that shape, and the same would be decided
  /// for it.
  [[nodiscard]] bool serves(const PlanEnvironment& environment, const PlanShape& shape) const;
  /// @throws std::bad_alloc, with nothing changed
  void become(const PlanEnvironment& environment, std::size_t count);
  /// Of vectors that travel with the agreement; else null. The other: in a turn of the third way.
  [[nodiscard]] ShortSum* short_sum() const { return routes_.first_sum.get(); }
  [[nodiscard]] ShortSum* third_sum() const { return routes_.third_sum.get(); }
  [[nodiscard]] std::size_t state_bytes() const { return description_.state_bytes; }
  /// What a native result becomes: divided, of a mean. The two may be the same memory.
  void finish(const void* sum, void* output) const;
  /// Whether the codec that was asked for keeps state, though this vector may go without it.
  [[nodiscard]] bool wants_state() const { return state_.wanted; }
  [[nodiscard]] const std::string& asked_codec() const { return asked_codec_; }
  /// What messages of a call go through.
  [[nodiscard]] std::unique_ptr<Channel> wrap(std::unique_ptr<Channel> channel) const;
  /// Without the bytes of the workspace, which the routes() know.
  [[nodiscard]] const PlanDescription& description() const { return description_; }
  /// What must be equal on all ranks; callers add what belongs to the call.
  void add_to_signature(CallSignature& signature) const;
  /// Of that, what depends on the buffers of a call.
  void add_memory_to_signature(CallSignature& signature) const;
  /// Whether a thread of the library advances calls.
  [[nodiscard]] bool has_own_thread() const { return options_.own_thread; }
  /// Names what a state belongs to: the same text, the same state layout.
  [[nodiscard]] const std::string& state_key();

  struct Calls {
    /// Who makes them writes what they have in common, and for each call the last field.
    CallSignature signature;
    bool in_flight = false;  ///< one is
    /// One gave up whose messages may still use the plan's memory: there are no more.
    bool given_up = false;
  };
  Calls calls;

 private:
  struct State {
    bool wanted = false;  ///< wants_state()
    std::string key;      ///< state_key(), once somebody asked for it
  };

  RouteChoice choose_way(const PlanEnvironment& environment, const PlanCodec& codec, Merge payload,
                         const Placement& placement);
  std::unique_ptr<Codec> fit_codec(const PlanEnvironment& environment, PlanCodec& codec,
                                   std::unique_ptr<Codec> made, const Selection& selection,
                                   const Placement& placement);
  void describe(const PlanCodec& codec, const RouteChoice& choice);
  void move_to_device(const Transport& transport, const Placement& placement, bool there);
  void log_route(int rank) const;
  [[nodiscard]] RouteMaterial material(const PlanEnvironment& environment) const;
  void make_routes(const PlanEnvironment& environment, const PlanCodec& codec,
                   std::unique_ptr<Codec> first, const RouteChoice& choice);
  void prepare_third_way(const PlanEnvironment& environment, const PlanCodec& codec);

  std::unique_ptr<DevicePlan> device_;  ///< outlives parts, codecs and executors
  PlanVector vector_;
  std::uint64_t divisor_;  ///< of the sum
  const kernels::KernelTable& kernels_;
  PlanOptions options_;  ///< as asked for
  std::size_t message_bytes_;
  std::string asked_codec_;
  bool chosen_by_length_ = false;  ///< the codec, by `auto`
  State state_;
  PlanDescription description_;
  Offloading* offloading_ = nullptr;
  PlanRace race_;
  PlanRoutes routes_;
};

}  // namespace cohom
