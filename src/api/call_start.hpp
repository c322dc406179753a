#pragma once
// Starting the calls of the public functions that look up their plan.

#include "memory/device_work.hpp"
#include "plan/plan_shape.hpp"

#include <cohom/allreduce.hpp>

#include <memory>
#include <optional>

namespace cohom {

class ExactAccumulator;

/// What one rank brings to a call.
struct CallArguments {
  const void* input = nullptr;
  void* output = nullptr;
  PlanShape shape;
  /// Vectors that this rank added up, in place of the input; null: it is one vector.
  std::shared_ptr<const ExactAccumulator> added = nullptr;
  std::optional<kernels::DeviceStream> stream = std::nullopt;  ///< the user's; none: any
  bool blocks = false;  ///< the caller waits for the request at once
};

/// All that is wrong on this rank comes out of the request, on all ranks.
Request start_call(const CallArguments& arguments, Communicator& communicator,
                   const Options& options);

}  // namespace cohom
