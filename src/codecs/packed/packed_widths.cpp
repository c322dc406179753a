#include "codecs/packed/packed_widths.hpp"

#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace cohom {
namespace {

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

int octave_of_code(std::int32_t code) {
  return code >= 0 ? code / codes_per_octave : -((-code + codes_per_octave - 1) / codes_per_octave);
}

/// Expected width of a mini-block of 32 normal values whose largest magnitude is `steps` steps.
/// The width grows by one around every power of two: below it when another value rounds up, above
/// it while the largest may be negative. Fitted to simulated mini-blocks, within 0.1 bit.
double width_of_normal_values(double steps) {
  if (steps < 0.7) return 0;
  double width = 2;
  double power = 2;
  for (int octave = 1; octave < 30 && steps > power - 1; ++octave, power *= 2) {
    const double over = octave == 1 ? 0.25 : octave == 2 ? 0.6 : 1;
    width += std::min(1.0, (steps - (power - 1)) / (1 + over));
  }
  return width;
}

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
    const double scale = PackedStep{difference}.value();
    constexpr int samples = 8;
    double sum = 0;
    for (int i = 0; i < samples; ++i)
      sum += width_of_normal_values(scale * (low + (i + 0.5) / samples / 4));
    return sum / samples;
  }

  std::vector<double> widths_;
};

}  // namespace

double PackedStep::value() const {
  const int octave = octave_of_code(code);
  return std::ldexp(fractions_of_octave()[std::size_t(code - octave * codes_per_octave)], octave);
}

double expected_width(std::size_t quarter, std::int32_t code_difference) {
  static const WidthTable table;
  return table.of(quarter, code_difference);
}

}  // namespace cohom
