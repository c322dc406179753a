#include "codecs/thc/thc_table.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

namespace cohom {
namespace {

/// exp(x) for x >= 0: Taylor's series below 1/2, where 20 terms are exact to the last bit or two,
/// then squared back.
double exponential(double x) {
  int halvings = 0;
  for (; x > 0.5; x /= 2) ++halvings;
  double sum = 1;
  double term = 1;
  for (int k = 1; k <= 20; ++k) {
    term *= x / k;
    sum += term;
  }
  for (; halvings > 0; --halvings) sum *= sum;
  return sum;
}

double normal_density(double x) {
  constexpr double inverse_sqrt_two_pi = 0.39894228040143267794;
  return inverse_sqrt_two_pi / exponential(x * x / 2);
}

/// P(0 < u < x), odd in x. All terms of density(x) * (x + x^3/3 + x^5/(3*5) + ...) have one sign,
/// so nothing cancels. For x up to 8 no more than 90 count; rounded upwards, all would.
double normal_mass_from_zero(double x) {
  constexpr int last = 1001;
  double sum = 0;
  double term = x;
  for (int k = 1; k <= last && sum + term != sum; k += 2) {
    sum += term;
    term *= x * x / (k + 2);
  }
  return normal_density(x) * sum;
}

/// Variance that unbiased rounding between two levels adds, integrated over the gap:
/// the integral of (u - a)(b - u) density(u) from a = grid point i to b = grid point j.
class GapCost {
 public:
  GapCost(std::uint32_t granularity, double threshold) : granularity_(granularity) {
    for (std::uint32_t i = 0; i <= granularity; ++i) {
      // (2i - g) / g and not -1 + 2i/g: exactly odd about the centre, so that costs are symmetric.
      const double at = threshold * (2.0 * i - granularity) / granularity;
      at_.push_back(at);
      density_.push_back(normal_density(at));
      mass_.push_back(normal_mass_from_zero(at));
    }
  }

  double operator()(std::size_t i, std::size_t j) const {
    const double a = at_[i];
    const double b = at_[j];
    const double zeroth = mass_[j] - mass_[i];
    const double first = density_[i] - density_[j];
    const double second = zeroth + a * density_[i] - b * density_[j];
    return (a + b) * first - second - a * b * zeroth;
  }

  /// Cost of the gap in the middle of a symmetric table, between i and granularity - i.
  double middle(std::size_t i) const { return (*this)(i, granularity_ - i); }

 private:
  std::size_t granularity_;
  std::vector<double> at_, density_, mass_;
};

}  // namespace

namespace {

double find_tail_threshold(double tail) {
  double low = 0;
  double high = 40;
  for (;;) {
    const double middle = (low + high) / 2;
    if (!(middle > low && middle < high)) return low;
    // Beyond 8 the mass is 1/2 to the last bit, and the series is not worth its terms.
    const double beyond = middle > 8 ? 0 : 1 - 2 * normal_mass_from_zero(middle);
    (beyond > tail ? low : high) = middle;
  }
}

std::vector<std::uint16_t> find_levels(unsigned bits, std::uint32_t granularity, double threshold) {
  // The lower half of the table is a path 0 = j_0 < j_1 < ... < j_last below the centre; the upper
  // half mirrors it. best[k][j] = least cost of levels k.. of the path and the middle gap, when
  // level k is j. Filled from the middle outwards, so that following the first minimum from level 0
  // gives the lexicographically smallest table.
  constexpr double none = std::numeric_limits<double>::infinity();
  const GapCost cost(granularity, threshold);
  const std::size_t half = std::size_t{1} << (bits - 1);
  const std::size_t end = (granularity + 1) / 2;  // first position not strictly below the centre
  std::vector<double> best(end);
  std::vector<std::vector<std::uint16_t>> next(half, std::vector<std::uint16_t>(end));
  for (std::size_t j = 0; j < end; ++j) best[j] = cost.middle(j);
  for (std::size_t k = half - 1; k-- > 0;) {
    std::vector<double> longer(end, none);
    for (std::size_t j = k; j < end; ++j)
      for (std::size_t to = j + 1; to < end; ++to)
        if (const double sum = 2 * cost(j, to) + best[to]; sum < longer[j]) {
          longer[j] = sum;
          next[k][j] = static_cast<std::uint16_t>(to);
        }
    best = std::move(longer);
  }

  std::vector<std::uint16_t> levels(2 * half);
  for (std::size_t k = 0; k < half; ++k) {
    if (k > 0) levels[k] = next[k - 1][levels[k - 1]];
    levels[2 * half - 1 - k] = static_cast<std::uint16_t>(granularity - levels[k]);
  }
  return levels;
}

}  // namespace

/// Plans of one kind follow each other, and ask twice each: finding it takes 10 us.
double normal_tail_threshold(double tail) {
  struct Known {
    double tail = 0, threshold = 0;
    int rounding = 0;
  };
  static thread_local Known known;
  const int rounding = std::fegetround();
  if (known.tail != tail || known.rounding != rounding)
    known = {tail, find_tail_threshold(tail), rounding};
  return known.threshold;
}

std::vector<std::uint16_t> optimal_levels(unsigned bits, std::uint32_t granularity,
                                          double threshold) {
  static std::mutex mutex;
  static std::map<std::tuple<unsigned, std::uint32_t, double>, std::vector<std::uint16_t>> known;
  const std::lock_guard lock(mutex);
  auto& levels = known[{bits, granularity, threshold}];
  if (levels.empty()) levels = find_levels(bits, granularity, threshold);
  return levels;
}

double equal_levels_variance(std::uint32_t intervals, double threshold) {
  const GapCost cost(intervals, threshold);
  double variance = 0;
  for (std::size_t i = 0; i < intervals; ++i) variance += cost(i, i + 1);
  return variance;
}

/// Twice the integral of (u - threshold)^2 density(u) above it.
double clamped_energy(double threshold) {
  const double beyond = 0.5 - normal_mass_from_zero(threshold);
  return 2 * ((1 + threshold * threshold) * beyond - threshold * normal_density(threshold));
}

double rounding_loss(std::span<const std::uint16_t> levels, double threshold, bool nearest) {
  constexpr double step = 1.0 / 1024, end = 6;
  const double grid = 2 * threshold / levels.back();
  double loss = 0, total = 0;
  std::size_t k = 0;  // the interval that holds u
  for (double u = -end + step / 2; u < end; u += step) {
    const double probability = std::exp(-u * u / 2);
    const double clamped = std::clamp(u, -threshold, threshold);
    while (k + 2 < levels.size() && clamped > levels[k + 1] * grid - threshold) ++k;
    const double below = clamped - (levels[k] * grid - threshold);
    const double above = levels[k + 1] * grid - threshold - clamped;
    const double outside = u - clamped;
    const double rounding =
        nearest ? std::min(below, above) * std::min(below, above) : below * above;
    loss += probability * (rounding + outside * outside);
    total += probability;
  }
  return loss / total;
}

std::vector<kernels::ThcCell> cells_of_levels(std::span<const std::uint16_t> levels) {
  std::vector<kernels::ThcCell> cells;
  for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
    const auto gap = static_cast<std::uint16_t>(levels[k + 1] - levels[k]);
    cells.insert(cells.end(), gap, {static_cast<std::uint16_t>(k), levels[k], gap});
  }
  cells.push_back(cells.back());
  return cells;
}

}  // namespace cohom
