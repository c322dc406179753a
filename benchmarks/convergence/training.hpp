#pragma once
// SGD whose gradients are averaged over the ranks by a codec, and the loss on its way.

#include "convergence_options.hpp"
#include "problem.hpp"

#include <cohom/communicator.hpp>
#include <cohom/plan.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cohom::bench {

struct Curve {
  std::vector<std::uint64_t> steps;
  std::vector<double> bytes;  ///< sent by this rank up to there
  std::vector<double> losses;

  /// Mean loss of the last tenth.
  [[nodiscard]] double last() const;
};

/// The allreduce that averages gradients. Collective.
/// @throws Error on all ranks alike
AllreducePlan averaging_plan(const ConvergenceOptions& options, const Problem& problem,
                             const std::string& codec, Communicator& communicator);

/// Collective; weights and losses are the same on all ranks.
Curve train(const ConvergenceOptions& options, Problem& problem, const std::string& codec,
            Communicator& communicator);

}  // namespace cohom::bench
