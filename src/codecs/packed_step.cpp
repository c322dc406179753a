#include "codecs/packed_step.hpp"

#include "kernels/body/float_bits.hpp"
#include "kernels/body/packed_quantize.hpp"
#include "kernels/packed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace cohom {
namespace {

using namespace kernels::body;

constexpr int codes_per_octave = 32;
constexpr double header_bits = 5.0 / 32;  // of a mini-block's 5-bit width, for each value

/// 2^(i/32): products of repeated square roots of 2.
const std::array<double, codes_per_octave>& fractions_of_octave() {
  static const auto powers = [] {
    std::array<double, codes_per_octave> table;
    table.fill(1);
    double root = 2;
    for (int bit = codes_per_octave / 2; bit > 0; bit /= 2) {
      root = std::sqrt(root);
      for (int i = 0; i < codes_per_octave; ++i)
        if ((i & bit) != 0) table[std::size_t(i)] *= root;
    }
    return table;
  }();
  return powers;
}

/// Expected width of a mini-block of 32 normal values whose largest magnitude is `steps` steps.
/// The width grows by one around every power of two: below it when another value rounds up, above it
/// while the largest may be negative. Fitted to simulated mini-blocks, within 0.1 bit.
double expected_width(double steps) {
  if (steps < 0.7) return 0;
  double width = 2;
  double power = 2;
  for (int octave = 1; octave < 30 && steps > power - 1; ++octave, power *= 2) {
    const double over = octave == 1 ? 0.25 : octave == 2 ? 0.6 : 1;
    width += std::min(1.0, (steps - (power - 1)) / (1 + over));
  }
  return width;
}

int least_exponent(ElementType type) {
  return type == ElementType::f64 ? PackedBins<double>::least_exponent
                                  : PackedBins<float>::least_exponent;
}

/// Widths of a bin as a function of (32 exponent - step code), for every quarter of an octave.
class WidthTable {
 public:
  WidthTable() {
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      for (int difference = least; difference <= most; ++difference)
        widths_.push_back(mean_width(quarter, difference));
  }

  [[nodiscard]] double of(std::size_t quarter, std::int32_t difference) const {
    const int clamped = std::clamp(difference, least, most);
    return widths_[quarter * (most - least + 1) + std::size_t(clamped - least)];
  }

 private:
  static constexpr int least = -3 * codes_per_octave, most = 31 * codes_per_octave;

  static double mean_width(std::size_t quarter, int difference) {
    const double low = 1 + static_cast<double>(quarter) / 4;
    const int octave = difference >= 0 ? difference / codes_per_octave
                                       : -((-difference + codes_per_octave - 1) / codes_per_octave);
    const double scale = power_of_two<double>(octave) *
                         fractions_of_octave()[std::size_t(difference - octave * codes_per_octave)];
    constexpr int samples = 8;
    double sum = 0;
    for (int i = 0; i < samples; ++i)
      sum += expected_width(scale * (low + (i + 0.5) / samples / 4));
    return sum / samples;
  }

  std::vector<double> widths_;
};

const WidthTable& width_table() {
  static const WidthTable table;
  return table;
}

/// 32 times the exponent of the octave that a bin > 0 lies in.
std::int32_t code_of_bin(ElementType type, std::size_t bin) {
  return codes_per_octave * (static_cast<std::int32_t>((bin - 1) / 4) + least_exponent(type));
}

double mean_bits(ElementType type, const PackedHistogram& histogram, std::int32_t step) {
  const WidthTable& widths = width_table();
  double bits = 0, minis = histogram.counts[0];
  for (std::size_t i = 1; i < PackedHistogram::window; ++i) {
    if (histogram.counts[i] == 0) continue;
    const std::size_t bin = histogram.top + i - (PackedHistogram::window - 1);
    bits += histogram.counts[i] * widths.of((bin - 1) % 4, code_of_bin(type, bin) - step);
    minis += histogram.counts[i];
  }
  return bits / minis + header_bits;
}

}  // namespace

double PackedStep::value() const {
  const int octave =
      code >= 0 ? code / codes_per_octave : -((-code + codes_per_octave - 1) / codes_per_octave);
  return std::ldexp(fractions_of_octave()[std::size_t(code - octave * codes_per_octave)], octave);
}

std::size_t packed_bins(ElementType type) {
  return type == ElementType::f64 ? PackedBins<double>::count : PackedBins<float>::count;
}

std::size_t top_bin(std::span<const std::uint32_t> bins) {
  std::size_t top = bins.size() - 1;
  while (top > 0 && bins[top] == 0) --top;
  return top;
}

PackedHistogram PackedHistogram::of(std::span<const std::uint32_t> bins, std::size_t top) {
  PackedHistogram histogram{.top = top, .counts = {}};
  for (std::size_t bin = 0; bin <= top; ++bin) {
    const std::size_t below = top - bin;
    histogram.counts[below < window - 1 && bin > 0 ? window - 1 - below : 0] += bins[bin];
  }
  return histogram;
}

PackedStep step_for_budget(ElementType type, const PackedHistogram& histogram, double bits,
                           std::uint32_t limit) {
  if (histogram.top == 0) return {};
  const std::int32_t end = code_of_bin(type, histogram.top) + codes_per_octave;
  // The largest magnitude is below 2^(end / 32), and must be at most `limit` steps.
  std::int32_t low = end - codes_per_octave * (static_cast<int>(std::bit_width(limit)) - 1);
  std::int32_t high = end + codes_per_octave;  // everything is dropped
  if (mean_bits(type, histogram, low) <= bits) return {low};
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (mean_bits(type, histogram, middle) <= bits ? high : low) = middle;
  }
  return {high};
}

double growth_of_sums(std::uint32_t ranks) {
  const auto octave = static_cast<unsigned>(std::bit_width(ranks)) - 1;
  return (octave + (static_cast<double>(ranks) / (std::uint64_t{1} << octave) - 1)) / 2;
}

}  // namespace cohom
