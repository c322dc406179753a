#pragma once
// What thc's error should be, from the integrals over a normal variable, done numerically.

#include "kernels/thc/thc.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace cohom::test {

/// Expected squared errors of one standard normal variable u, scaled to variance 1/scale, quantised
/// between levels; both in units of u^2 before scaling.
struct RoundingError {
  double in_range = 0;    ///< from rounding
  double truncation = 0;  ///< from clamping
  double evenness = 1;    ///< mean gap squared over mean squared gap: 1 for equal gaps, no clamping
};

/// `levels`: the table, or 0..intervals for levels=full; level k lies at threshold (2 T[k]/g - 1).
inline RoundingError rounding_error(std::span<const std::uint16_t> levels, double threshold,
                                    bool nearest, double scale) {
  const auto density = [&](double u) {
    return std::sqrt(scale / (2 * std::numbers::pi)) * std::exp(-u * u * scale / 2);
  };
  constexpr int steps = 64;
  RoundingError error;
  double mean_gap = 0;
  double mean_squared_gap = 0;
  for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
    const double a = threshold * (2.0 * levels[k] / levels.back() - 1);
    const double width = threshold * 2.0 * (levels[k + 1] - levels[k]) / levels.back();
    for (int s = 0; s < steps; ++s) {
      const double below = width * (s + 0.5) / steps;
      const double above = width - below;
      const double squared =
          nearest ? std::min(below, above) * std::min(below, above) : below * above;
      const double probability = density(a + below) * width / steps;
      error.in_range += squared * probability;
      mean_gap += width * probability;
      mean_squared_gap += width * width * probability;
    }
  }
  for (double u = threshold + 0.0005; u < threshold + 10; u += 0.001)
    error.truncation += 2 * (u - threshold) * (u - threshold) * density(u) * 0.001;
  error.evenness = mean_gap * mean_gap / mean_squared_gap;
  error.in_range *= scale;
  error.truncation *= scale;
  return error;
}

enum class Inputs { independent, identical };

/// vNMSE of the sum of n vectors of equal norm. Rounding errors of uncorrelated inputs add like the
/// inputs do. Correlated dither makes the n errors of one element cancel: what is left is
/// (n+1)/(2n) for uncorrelated inputs when they fall in equal gaps (only the part of a gap that all
/// have in common can cancel), and for identical ones the error of rounding n u once.
inline double expected_vnmse(RoundingError error, kernels::Dither dither, Inputs inputs,
                             int ranks) {
  const double n = ranks;
  double share = 1;
  if (dither == kernels::Dither::independent && inputs == Inputs::identical) share = 1 / n;
  if (dither == kernels::Dither::correlated)
    share = inputs == Inputs::identical ? 1 / (n * n) : 1 - error.evenness * (n - 1) / (2 * n);
  return share * error.in_range + error.truncation;
}

/// Mean over blocks of the largest of the ranks' squared norms, divided by the block: the price of
/// a common scale. 1 for scale=global.
inline double scale_excess(std::span<const std::vector<double>> inputs, std::size_t block) {
  double sum = 0;
  const std::size_t blocks = inputs[0].size() / block;
  for (std::size_t b = 0; b < blocks; ++b) {
    double largest = 0;
    for (const auto& input : inputs) {
      double energy = 0;
      for (std::size_t i = b * block; i < (b + 1) * block; ++i) energy += input[i] * input[i];
      largest = std::max(largest, energy);
    }
    sum += largest / static_cast<double>(block);
  }
  return sum / static_cast<double>(blocks);
}

/// Exact sums in double.
inline std::vector<double> sum_of(std::span<const std::vector<double>> inputs) {
  std::vector<double> sum(inputs[0].size());
  for (const auto& input : inputs)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input[i];
  return sum;
}

}  // namespace cohom::test
