#include "codecs/packed/packed_mini_block.hpp"

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/packed/body/packed_quantize.hpp"

#include <algorithm>
#include <cmath>

namespace cohom {
namespace {

using namespace kernels::body;
using kernels::packed_mini;

constexpr double min_projection = 1.0 / 64;

/// Sums and products run in eight chains, element i in chain i mod 8, so that one need not wait for
/// the other; then chain c takes chain c + 4, c + 2 and c + 1.
constexpr std::size_t chains = 8;
using Chains = std::array<double, chains>;

template <class Combine>
double folded(Chains values, Combine combine) {
  for (std::size_t width = chains / 2; width > 0; width /= 2)
    for (std::size_t c = 0; c < width; ++c) values[c] = combine(values[c], values[c + width]);
  return values[0];
}

/// Probability that none of the steps rounds to an integer of at least `above`, or of at most
/// -`below`.
double probability_of_none(const PackedMini& steps, double above, double below, bool nearest) {
  Chains none;
  none.fill(1);
  for (std::size_t i = 0; i < packed_mini; ++i) {
    // Of the two only one can be positive.
    const double over = std::max(steps[i] - (above - 1), -steps[i] - (below - 1));
    const double probability = std::min(std::max(over, 0.0), 1.0);
    none[i % chains] *= nearest ? double(probability < 0.5) : 1 - probability;
  }
  return folded(none, [](double x, double y) { return x * y; });
}

/// The value, negated if `negative` is 1; no branch, which no processor would foresee.
double with_sign(double value, std::uint32_t negative) {
  return from_bits<double>(bits_of(value) ^ std::uint64_t{negative} << 63);
}

/// Width that rounding gives these values on average, their largest magnitude being `largest`
/// steps.
double mean_width(const PackedMini& steps, double largest, bool nearest) {
  if (largest < 0.7) return 0;
  double width = 1 - probability_of_none(steps, 1, 1, nearest);
  double power = 1;
  for (int octave = 0; octave < 29 && largest > power - 1; ++octave, power *= 2)
    width += largest >= power + 1 ? 1 : 1 - probability_of_none(steps, power, power + 1, nearest);
  return width;
}

}  // namespace

PackedMini PackedVector::mini(std::size_t first, int exponent) const {
  return with_element_type(type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    PackedMini values;
    const std::byte* const from = minis->at(first / packed_mini);
    for (std::size_t i = 0; i < packed_mini; ++i)
      values[i] = is_feedback ? load_element<Real>(from, i) : load_element<T>(from, i);
    if (exponent != 0) {
      const double low = power_of_two<double>(exponent / 2);
      const double high = power_of_two<double>(exponent - exponent / 2);
      for (double& value : values) value = value * low * high;  // as scaled() does
    }
    return values;
  });
}

double largest_magnitude(const PackedMini& values) {
  // Magnitudes order as their bits do, infinities and NaNs above all others.
  std::uint64_t largest = 0;
  for (double value : values) largest = std::max(largest, bits_of(std::abs(value)));
  return from_bits<double>(largest);
}

double width_deviation(ElementType type, const PackedMini& values, PackedStep step, bool nearest) {
  const double largest = largest_magnitude(values);
  if (!std::isfinite(largest)) return 0;
  const double inverse = 1 / step.value();
  if (!std::isfinite(inverse)) return 0;  // everything is an outlier
  return with_element_type(type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    const std::size_t bin = packed_bin(static_cast<Real>(largest));
    if (bin == 0) return 0.0;
    PackedMini steps;
    for (std::size_t i = 0; i < packed_mini; ++i) steps[i] = values[i] * inverse;
    return mean_width(steps, largest * inverse, nearest) -
           expected_width((bin - 1) % 4, octave_code<Real>(bin) - step.code);
  });
}

double projection(const PackedMini& values, std::uint32_t signs) {
  Chains sums{};
  for (std::size_t i = 0; i < packed_mini; ++i)
    sums[i % chains] += with_sign(values[i], signs >> i & 1);
  return folded(sums, [](double x, double y) { return x + y; });
}

std::int32_t log_code(double magnitude) {
  return static_cast<std::int32_t>(bits_of(magnitude) >> 47) -
         codes_per_octave * FloatFormat<double>::bias;
}

std::int32_t projection_distance(double largest, double projection) {
  return log_code(largest) - log_code(std::max(std::abs(projection), largest * min_projection));
}

std::int64_t crest(const PackedMini& values, double largest, std::uint32_t frame) {
  // All patterns at a time, so that the additions of one need not wait for each other.
  std::array<double, crest_patterns> sums{};
  std::array<std::uint32_t, crest_patterns> signs;
  for (std::uint32_t p = 0; p < crest_patterns; ++p) signs[p] = draw(frame, 3 + p);
  for (std::size_t i = 0; i < packed_mini; ++i)
    for (std::uint32_t p = 0; p < crest_patterns; ++p)
      sums[p] += with_sign(values[i], signs[p] >> i & 1);
  std::int64_t codes = 0;
  for (double sum : sums) codes += projection_distance(largest, sum);
  return codes;
}

}  // namespace cohom
