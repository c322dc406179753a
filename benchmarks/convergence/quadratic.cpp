#include "counter_random.hpp"
#include "problem.hpp"

#include <cmath>

namespace cohom::bench {
namespace {

constexpr std::size_t count = 16384;

enum Stream : std::uint64_t { targets, curvatures, own_targets, noise };

class Quadratic final : public Problem {
 public:
  explicit Quadratic(const ProblemOptions& options)
      : options_(options), target_(count), own_target_(count), curvature_(count) {
    const CounterRandom target(options.seed, 0, targets);
    const CounterRandom curvature(options.seed, 0, curvatures);
    for (std::size_t i = 0; i < count; ++i) {
      target_[i] = target.normal(i);
      curvature_[i] = std::pow(4.0, curvature.uniform(i) - 1);
      own_target_[i] = target_[i] + own_distance(i);
    }
  }

  [[nodiscard]] std::size_t parameters() const override { return count; }
  [[nodiscard]] std::vector<float> start() const override { return std::vector<float>(count); }

  void gradient(std::span<const float> weights, std::uint64_t step,
                std::span<float> gradient) override {
    const CounterRandom random(options_.seed + step, std::uint64_t(options_.rank), noise);
    for (std::size_t i = 0; i < count; i += 2) {
      const auto [a, b] = random.normal_pair(i / 2);
      gradient[i] = static_cast<float>(curvature_[i] * (weights[i] - own_target_[i]) + a);
      gradient[i + 1] =
          static_cast<float>(curvature_[i + 1] * (weights[i + 1] - own_target_[i + 1]) + b);
    }
  }

  [[nodiscard]] double loss(std::span<const float> weights) const override {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double distance = weights[i] - target_[i];
      sum += curvature_[i] * distance * distance;
    }
    return sum / (2 * count);
  }

 private:
  /// From the common target; the ranks' distances add up to nothing.
  [[nodiscard]] double own_distance(std::size_t i) const {
    if (!options_.heterogeneous) return 0;
    double own = 0, mean = 0;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const double distance =
          3 * CounterRandom(options_.seed, std::uint64_t(rank), own_targets).normal(i);
      mean += distance / options_.ranks;
      if (rank == options_.rank) own = distance;
    }
    return own - mean;
  }

  ProblemOptions options_;
  std::vector<double> target_, own_target_, curvature_;
};

}  // namespace

std::unique_ptr<Problem> make_quadratic(const ProblemOptions& options) {
  return std::make_unique<Quadratic>(options);
}

}  // namespace cohom::bench
