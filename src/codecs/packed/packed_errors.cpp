#include "codecs/packed/packed_errors.hpp"

#include "codecs/common/nmse.hpp"
#include "codecs/packed/packed_energy.hpp"
#include "codecs/packed/packed_step.hpp"
#include "kernels/packed/packed.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace cohom {
namespace {

constexpr std::int32_t octave = codes_per_octave;

/// Finer steps make outliers of all that the histogram's window tells apart.
constexpr int min_step_octaves = 64;

/// Mini-blocks of 32 normal values of variance 1: the quantiles 1/8, 3/8, 5/8 and 7/8 of their
/// largest magnitudes.
constexpr float normal_maxima[] = {1.86f, 2.17f, 2.44f, 2.87f};

/// Variance of rounding values whose magnitudes are even up to `largest` steps, which is at most 1:
/// the mean of f (1 - f).
double variance_below_a_step(double largest) { return largest / 2 - largest * largest / 3; }

}  // namespace

PackedErrors::PackedErrors(ElementType type, const PackedHistogram& histogram, std::uint64_t minis,
                           unsigned shift, const PackedOptions& options, std::uint32_t ranks,
                           std::uint32_t limit)
    : type_(type),
      histogram_(histogram),
      minis_(static_cast<double>(minis)),
      unit_(static_cast<double>(std::uint64_t{1} << shift)),
      limit_(limit) {
  const bool correlated = options.dither == kernels::Dither::correlated;
  rounding_ = (correlated ? (ranks + 1.0) / (2.0 * ranks) : 1.0) / 6;
  // Of 2^s remainders, which are equally likely, half a step has ties.
  const double whole = std::ldexp(1.0, 2 * static_cast<int>(options.down_shift));
  owners_ = options.down_shift == 0 || ranks == 1 ? 0 : (whole + 2) / 12;
}

int PackedErrors::end() const { return octave_code(type_, histogram_.top) / octave + 1; }

double PackedErrors::squared_error(PackedStep step) const {
  double rounding = 0, owners = 0;
  for (std::size_t i = 1; i < PackedHistogram::window; ++i) {
    if (histogram_.counts[i] == 0) continue;
    const std::size_t bin = histogram_.bin(i);
    const auto quarter = static_cast<double>((bin - 1) % 4);
    const double steps = PackedStep{octave_code(type_, bin) - step.code}.value();
    if (steps * (1 + quarter / 4) >= limit_) continue;  // outliers
    const double largest = steps * (1 + (quarter + 1) / 4);
    const double count = histogram_.counts[i] * unit_;
    rounding += count * (largest >= 1 ? rounding_ : variance_below_a_step(largest));
    // A few integers that are not zero: the owner can lose each.
    owners += count * std::min(owners_, largest / 2);
  }
  const double size = PackedStep{step.code - end() * octave}.value();
  return kernels::packed_mini * (rounding + std::min(owners, owners_ * minis_)) * size * size;
}

PackedStep PackedErrors::step_for(double squared_error) const {
  std::int32_t low = (end() - min_step_octaves) * octave;
  std::int32_t high = (end() + 1) * octave;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (this->squared_error({middle}) <= squared_error ? low : high) = middle;
  }
  return {low};
}

PackedNormalBits::PackedNormalBits(const PackedOptions& options, ElementType type,
                                   std::size_t elements, std::uint32_t ranks, std::uint32_t limit)
    : ranks_(ranks), down_shift_(options.down_shift) {
  constexpr std::uint64_t minis = std::size(normal_maxima);
  histogram_.top = kernels::body::packed_bin(normal_maxima[minis - 1]);
  for (const float largest : normal_maxima)
    histogram_.counts[kernels::body::packed_bin(largest) + PackedHistogram::window - 1 -
                      histogram_.top] += ranks;
  const PackedErrors errors(ElementType::f32, histogram_, minis, 0, options, ranks, limit);
  const double energy = double{kernels::packed_mini * minis} * ranks;
  const double nmse =
      (options.error - nmse_of_rounding(type)) / (1 + PackedEnergy::margin(elements));
  step_ = errors.step_for(std::ldexp(nmse * energy, -2 * errors.end()));
}

double PackedNormalBits::sum(std::uint32_t ranks) const { return bits(ranks, 0); }

double PackedNormalBits::result() const { return bits(ranks_, ranks_ == 1 ? 0 : down_shift_); }

/// What a forecast says is the mean of contributions and sums.
double PackedNormalBits::bits(std::uint32_t ranks, unsigned down_shift) const {
  PackedForecast forecast(ElementType::f32, histogram_);
  const double contribution = forecast.bits(step_);
  forecast.assume_uncorrelated(ranks, down_shift);
  return 2 * forecast.bits(step_) - contribution;
}

}  // namespace cohom
