#pragma once
// Problem: something to minimise, data-parallel. Every rank has a gradient of its own of the same
// weights; the loss is that of all ranks together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::bench {

class Problem {
 public:
  virtual ~Problem() = default;
  [[nodiscard]] virtual std::size_t parameters() const = 0;
  /// The weights to start from, alike on all ranks.
  [[nodiscard]] virtual std::vector<float> start() const = 0;
  /// This rank's noisy gradient at step `step`.
  virtual void gradient(std::span<const float> weights, std::uint64_t step,
                        std::span<float> gradient) = 0;
  [[nodiscard]] virtual double loss(std::span<const float> weights) const = 0;
};

struct ProblemOptions {
  int rank = 0;
  int ranks = 1;
  bool heterogeneous = false;  ///< ranks see different data
  std::uint64_t seed = 1;
  std::string data;  ///< of digits: the file of images
};

/// 1/2 sum of h (w - t)^2 / d with curvatures h from 0.25 to 1 and gradients noisy by N(0, 1).
/// Heterogeneous: every rank has a target of its own, 3 N(0, 1) around t, whose mean is t.
std::unique_ptr<Problem> make_quadratic(const ProblemOptions& options);

/// Logistic regression of handwritten digits on 1024 random features. Every rank has its share of
/// the images, drawn at random or, heterogeneous, in the order of their class.
/// @throws std::runtime_error for a file that holds no digits, or fewer than there are ranks.
std::unique_ptr<Problem> make_digits(const ProblemOptions& options);

}  // namespace cohom::bench
