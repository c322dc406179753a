#pragma once
// PlanCore: everything that is decided and allocated for one kind of call, before any message.

#include "call_agreement.hpp"
#include "codec_interface.hpp"
#include "codecs/codec_context.hpp"
#include "executor.hpp"
#include "selector.hpp"

#include <cohom/options.hpp>
#include <cohom/plan.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace cohom {

/// What a communicator gives to its plans.
struct PlanEnvironment {
  Transport* transport = nullptr;
  Aggregator* aggregator = nullptr;
  const kernels::KernelTable* kernels = nullptr;
  Tuning tuning;
};

/// Options with environment and defaults filled in.
struct ResolvedOptions {
  std::string codec;
  std::string algorithm;
  ReduceOp op = ReduceOp::sum;
  std::size_t segment = 0;  ///< 0: by transport
  std::string transport;    ///< empty: the communicator's, whatever it is

  /// Equal keys make equal plans.
  [[nodiscard]] std::string key(std::size_t count, ElementType type) const;
};

/// @throws Error(invalid_argument) for a COHOM_SEGMENT that is no number.
ResolvedOptions resolve(const Options& options);

class PlanCore {
 public:
  /// Local. @throws Error for anything that is wrong with the options.
  PlanCore(const PlanEnvironment& environment, std::size_t count, ElementType type,
           const ResolvedOptions& options);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] Executor& executor() { return *executor_; }
  [[nodiscard]] std::size_t state_bytes() const { return description_.state_bytes; }
  [[nodiscard]] const PlanDescription& description() const { return description_; }
  /// What must be equal on all ranks; callers add what belongs to the call.
  void sign(CallSignature& signature) const;
  /// Names what a state belongs to: the same text, the same state layout.
  [[nodiscard]] std::string state_key() const;

  bool in_flight = false;

 private:
  void bypass(CodecContext& context, std::size_t bytes, const std::string& reason);
  void make_executor(const PlanEnvironment& environment, const AlgorithmRow& algorithm,
                     std::size_t segment);

  std::size_t count_;
  ElementType type_;
  ReduceOp op_;
  std::size_t message_bytes_;
  PlanDescription description_;
  std::unique_ptr<Codec> codec_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Registration> registration_;  ///< of the executor's workspace
};

}  // namespace cohom
