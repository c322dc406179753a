#pragma once
// CallRequest: what one rank brings to a call.

#include "agreement/call_signature.hpp"
#include "call/state_buffer.hpp"
#include "memory/device_work.hpp"
#include "plan/plan_core.hpp"

#include <cohom/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cohom {

struct BegunAgreement;
class CallFailures;
class ExactAccumulator;

struct CallRequest {
  /// What must be equal on all ranks; null: the plan's, or nothing where there is none.
  std::unique_ptr<CallSignature> own_signature;
  std::optional<Error> error;      ///< this rank cannot make the call
  std::shared_ptr<PlanCore> core;  ///< null: only agree
  const void* input = nullptr;
  void* output = nullptr;
  /// Vectors that this rank added up, in place of the input; null: none.
  std::shared_ptr<const ExactAccumulator> added = nullptr;
  StateBuffer* state = nullptr;  ///< outlives the call; null: the codec keeps none
  std::uint64_t step = 0;
  std::optional<kernels::DeviceStream> stream = std::nullopt;  ///< the user's; none: any
  bool blocks = false;  ///< the caller does nothing else until the call is over
  /// The others were told that this rank has nothing else to do: no look at that counts any more.
  bool told_that_it_waits = false;
  /// The agreement that this rank began by messages; null: none.
  std::shared_ptr<BegunAgreement> begun = nullptr;
  /// When its turn in a race began; none: it begins with the call.
  std::optional<std::chrono::steady_clock::time_point> turn_began = std::nullopt;
  double timeout = 0;  ///< seconds without progress; 0: no limit

  [[nodiscard]] const CallSignature& signature() const;
  /// A plan that was given up gives its place to an error: its memory may still be in use.
  void drop_given_up_plan(const CallFailures& failures);
};

/// What is wrong with the buffers of a request, before any message: null pointers with bytes > 0,
/// or an overlap that is not in place.
std::optional<Error> buffer_error(const void* input, const void* output, std::size_t bytes);
/// The same where the two differ in length, or this rank needs no output.
std::optional<Error> buffer_error(const PlanShape& shape, int rank, int ranks, const void* input,
                                  const void* output);

}  // namespace cohom
