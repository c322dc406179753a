#include "training.hpp"

#include <algorithm>
#include <numeric>

namespace cohom::bench {

double Curve::last() const {
  const auto count = std::max<std::ptrdiff_t>(1, std::ssize(losses) / 10);
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

AllreducePlan averaging_plan(const ConvergenceOptions& options, const Problem& problem,
                             const std::string& codec, Communicator& communicator) {
  return {
      communicator,
      problem.parameters(),
      ElementType::f32,
      {.codec = codec, .algorithm = options.algorithm, .op = ReduceOp::mean, .native = "never"}};
}

Curve train(const ConvergenceOptions& options, Problem& problem, const std::string& codec,
            Communicator& communicator) {
  AllreducePlan plan = averaging_plan(options, problem, codec, communicator);
  std::vector<float> weights = problem.start(), gradient(weights.size());
  const std::uint64_t before = communicator.wire_counters().bytes_sent;
  Curve curve;
  for (std::uint64_t step = 0; step <= options.steps; ++step) {
    if (step % options.every == 0) {
      curve.steps.push_back(step);
      curve.bytes.push_back(static_cast<double>(communicator.wire_counters().bytes_sent - before));
      curve.losses.push_back(problem.loss(weights));
    }
    problem.gradient(weights, step, gradient);
    plan.execute(gradient.data(), gradient.data());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] -= static_cast<float>(options.rate) * gradient[i];
  }
  return curve;
}

}  // namespace cohom::bench
