#include "codecs/packed_step.hpp"

#include "kernels/body/float_bits.hpp"
#include "kernels/body/packed_quantize.hpp"
#include "kernels/packed.hpp"

#include <algorithm>
#include <array>
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

/// Of a bin > 0: its octave's exponent, and which part of the octave it is.
struct BinPlace {
  int exponent;
  std::size_t quarter;
};

template <class Real>
BinPlace place_in(std::size_t bin) {
  constexpr std::size_t quarters = PackedBins<Real>::quarters;
  return {static_cast<int>((bin - 1) / quarters) + PackedBins<Real>::least_exponent,
          (bin - 1) % quarters};
}

BinPlace place_of_bin(ElementType type, std::size_t bin) {
  return type == ElementType::f64 ? place_in<double>(bin) : place_in<float>(bin);
}

/// Widths of a bin as a function of (32 exponent - step code), for every quarter of an octave.
class WidthTable {
 public:
  explicit WidthTable(ElementType type) : quarters_(type == ElementType::f64 ? 1 : 4) {
    for (std::size_t quarter = 0; quarter < quarters_; ++quarter)
      for (int difference = least; difference <= most; ++difference)
        widths_.push_back(mean_width(quarter, difference));
  }

  [[nodiscard]] double of(std::size_t quarter, std::int32_t difference) const {
    const int clamped = std::clamp(difference, least, most);
    return widths_[quarter * (most - least + 1) + std::size_t(clamped - least)];
  }

 private:
  static constexpr int least = -3 * codes_per_octave, most = 31 * codes_per_octave;

  [[nodiscard]] double mean_width(std::size_t quarter, int difference) const {
    const double size = 1 / static_cast<double>(quarters_);
    const double low = 1 + static_cast<double>(quarter) * size;
    const int octave = difference >= 0 ? difference / codes_per_octave
                                       : -((-difference + codes_per_octave - 1) / codes_per_octave);
    const double scale = power_of_two<double>(octave) *
                         fractions_of_octave()[std::size_t(difference - octave * codes_per_octave)];
    constexpr int samples = 8;
    double sum = 0;
    for (int i = 0; i < samples; ++i)
      sum += expected_width(scale * (low + (i + 0.5) / samples * size));
    return sum / samples;
  }

  std::size_t quarters_;
  std::vector<double> widths_;
};

const WidthTable& width_table(ElementType type) {
  static const WidthTable f64(ElementType::f64), f32(ElementType::f32);
  return type == ElementType::f64 ? f64 : f32;
}

/// Bins that count anything.
struct Counted {
  std::size_t quarter;
  int code;  ///< 32 times the exponent
  double count;
};

/// With `zeros` mini-blocks of zeros besides.
double mean_bits(ElementType type, std::span<const Counted> bins, double zeros, std::int32_t step) {
  const WidthTable& widths = width_table(type);
  double bits = 0, minis = zeros;
  for (const Counted& counted : bins) {
    bits += counted.count * widths.of(counted.quarter, counted.code - step);
    minis += counted.count;
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

PackedStep step_for_budget(ElementType type, std::span<const std::uint32_t> bins, double bits,
                           std::uint32_t limit) {
  std::array<Counted, PackedBins<double>::count> room;  // the larger of the two
  std::size_t used = 0;
  for (std::size_t bin = 1; bin < bins.size(); ++bin) {
    if (bins[bin] == 0) continue;
    const BinPlace place = place_of_bin(type, bin);
    room[used++] = {place.quarter, codes_per_octave * place.exponent,
                    static_cast<double>(bins[bin])};
  }
  if (used == 0) return {};
  const auto counted = std::span<const Counted>(room).first(used);
  const auto zeros = static_cast<double>(bins[0]);
  const int largest = counted.back().code / codes_per_octave + 1;
  // The largest magnitude is below 2^largest, and must be at most `limit` steps.
  std::int32_t low = codes_per_octave * (largest - (static_cast<int>(std::bit_width(limit)) - 1));
  std::int32_t high = codes_per_octave * (largest + 1);  // everything is dropped
  if (mean_bits(type, counted, zeros, low) <= bits) return {low};
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (mean_bits(type, counted, zeros, middle) <= bits ? high : low) = middle;
  }
  return {high};
}

}  // namespace cohom
