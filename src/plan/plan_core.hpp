#pragma once
// PlanCore: everything that is decided and allocated for one kind of call, before any message.

#include "agreement/call_agreement.hpp"
#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "executor/executor.hpp"
#include "plan/device_plan.hpp"
#include "plan/selector.hpp"

#include <cohom/options.hpp>
#include <cohom/plan.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace cohom {

class Offloading;

/// What a communicator gives to its plans.
struct PlanEnvironment {
  Transport* transport = nullptr;
  Aggregator* fabric = nullptr;
  /// The communicator's end of the aggregator at an address; null when it has none there.
  std::function<Offloading*(const std::string& address)> offloading;
  const kernels::KernelTable* kernels = nullptr;
  Tuning tuning;
};

/// Options with environment and defaults filled in.
struct ResolvedOptions {
  std::string codec;
  std::string algorithm;
  ReduceOp op = ReduceOp::sum;
  std::size_t segment = 0;  ///< 0: by transport
  std::string aggregator = {};
  std::string transport;  ///< empty: the communicator's, whatever it is
  bool checksum = false;

  /// Equal keys make equal plans.
  [[nodiscard]] std::string key(std::size_t count, ElementType type,
                                const Placement& placement) const;
};

/// @throws Error(invalid_argument) for a COHOM_SEGMENT that is no number, or a checksum that is
/// neither on nor off.
ResolvedOptions resolve(const Options& options);

/// Seconds, with the environment filled in; 0: no limit. Apart from the others: a rank whose
/// options are wrong waits for others, too. @throws Error(invalid_argument)
double timeout_of(const Options& options);

class PlanCore {
 public:
  /// Local. @throws Error for anything that is wrong with the options.
  PlanCore(const PlanEnvironment& environment, std::size_t count, ElementType type,
           const ResolvedOptions& options, const Placement& placement = {});
  ~PlanCore();
  PlanCore(const PlanCore&) = delete;
  PlanCore& operator=(const PlanCore&) = delete;

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] ElementType type() const { return type_; }
  /// Null unless calls go to an aggregator in the network.
  [[nodiscard]] Offloading* offloading() const { return offloading_; }
  /// Null unless a buffer lies on a device.
  [[nodiscard]] DevicePlan* device() const { return device_.get(); }
  /// The device's, where calls run there; else null.
  [[nodiscard]] const std::shared_ptr<DeviceWork>& device_work() const;
  /// Runs the calls; where there is offloading(), those that all ranks can offload.
  [[nodiscard]] Executor& executor() { return *route_.executor; }
  /// Runs the others.
  [[nodiscard]] Executor& other_executor() { return *other_route_.executor; }
  [[nodiscard]] std::size_t state_bytes() const { return description_.state_bytes; }
  /// Whether the codec that was asked for keeps state, though this vector may go without it.
  [[nodiscard]] bool wants_state() const { return wants_state_; }
  [[nodiscard]] const std::string& asked_codec() const { return asked_codec_; }
  /// What messages of a call go through.
  [[nodiscard]] std::unique_ptr<Channel> wrap(std::unique_ptr<Channel> channel) const;
  [[nodiscard]] const PlanDescription& description() const { return description_; }
  /// What must be equal on all ranks; callers add what belongs to the call.
  void sign(CallSignature& signature) const;
  /// Of that, what depends on the buffers of a call.
  void sign_memory(CallSignature& signature) const;
  /// Names what a state belongs to: the same text, the same state layout.
  [[nodiscard]] const std::string& state_key() const { return state_key_; }

  bool in_flight = false;
  /// A call gave up whose messages may still use its memory: there are no more calls.
  bool given_up = false;

 private:
  /// A way for a call to go. Each has a codec of its own, whose scratch fits its pieces.
  struct Route {
    std::unique_ptr<Codec> codec;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<Registration> registration;  ///< of the executor's workspace
    std::size_t segment = 0;
  };

  Selection select(const PlanEnvironment& environment, const ResolvedOptions& options,
                   std::string_view codec, Merge payload);
  void leave_out_aggregator(const PlanEnvironment& environment, std::string_view codec,
                            std::string why);
  void bypass(CodecContext& context, std::size_t bytes, const std::string& reason);
  bool runs_on_device(const Placement& placement, const AlgorithmRow& algorithm) const;
  void move_to_device(CodecContext& context, const PlanEnvironment& environment,
                      const Placement& placement, const AlgorithmRow& algorithm);
  void describe_path(const PlanEnvironment& environment);
  void make_route(Route& route, const PlanEnvironment& environment, const AlgorithmRow& algorithm,
                  std::size_t segment) const;

  std::size_t count_;
  ElementType type_;
  ReduceOp op_;
  std::size_t message_bytes_;
  bool segment_given_;
  bool checksum_;
  bool wants_state_ = false;
  std::string asked_codec_, state_key_;
  int ranks_;
  bool reaches_device_ = false;
  std::unique_ptr<DevicePlan> device_;  ///< outlives codecs and executors
  PlanDescription description_;
  Offloading* offloading_ = nullptr;
  const AlgorithmRow* other_algorithm_ = nullptr;
  std::string address_;  ///< of the aggregator
  Route route_, other_route_;
};

}  // namespace cohom
