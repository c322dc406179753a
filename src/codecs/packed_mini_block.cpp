#include "codecs/packed_mini_block.hpp"

#include "kernels/body/element.hpp"
#include "kernels/body/float_bits.hpp"
#include "kernels/body/packed_quantize.hpp"
#include "kernels/body/random.hpp"

#include <algorithm>
#include <cmath>

namespace cohom {
namespace {

using namespace kernels::body;
using kernels::packed_mini;

constexpr double least_projection = 1.0 / 64;

/// Probability that none of the steps rounds to an integer of at least `above`, or of at most -`below`.
double probability_of_none(const PackedMini& steps, double above, double below, bool nearest) {
  double none = 1;
  for (double value : steps) {
    const double over =
        std::clamp(value > 0 ? value - (above - 1) : -value - (below - 1), 0.0, 1.0);
    none *= nearest ? (over < 0.5 ? 1 : 0) : 1 - over;
  }
  return none;
}

/// Width that rounding gives these values on average, their largest magnitude being `largest` steps.
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
    for (std::size_t i = 0; i < packed_mini; ++i)
      values[i] = feedback == nullptr ? load_element<T>(input, first + i)
                                      : load_element<Real>(feedback, first + i);
    if (exponent != 0)
      for (double& value : values) value = scaled(value, exponent);
    return values;
  });
}

double largest_magnitude(const PackedMini& values) {
  double largest = 0;
  for (double value : values)
    if (std::abs(value) > largest || std::isnan(value)) largest = std::abs(value);
  return largest;
}

double width_deviation(ElementType type, const PackedMini& values, PackedStep step, bool nearest) {
  const double largest = largest_magnitude(values);
  if (!std::isfinite(largest)) return 0;
  const double inverse = 1 / step.value();
  if (!std::isfinite(inverse)) return 0;  // everything escapes
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
  double sum = 0;
  for (std::size_t i = 0; i < packed_mini; ++i)
    sum += (signs >> i & 1) != 0 ? -values[i] : values[i];
  return sum;
}

std::int32_t log_code(double magnitude) {
  return static_cast<std::int32_t>(bits_of(magnitude) >> 47) -
         PackedStep::codes_per_octave * FloatFormat<double>::bias;
}

std::int32_t projection_distance(double largest, double projection) {
  return log_code(largest) - log_code(std::max(std::abs(projection), largest * least_projection));
}

std::int64_t crest(const PackedMini& values, double largest, std::uint32_t frame) {
  // All patterns at a time, so that the additions of one need not wait for each other.
  std::array<double, crest_patterns> sums{};
  std::array<std::uint32_t, crest_patterns> signs;
  for (std::uint32_t p = 0; p < crest_patterns; ++p) signs[p] = draw(frame, 3 + p);
  for (std::size_t i = 0; i < packed_mini; ++i)
    for (std::uint32_t p = 0; p < crest_patterns; ++p)
      sums[p] += (signs[p] >> i & 1) != 0 ? -values[i] : values[i];
  std::int64_t codes = 0;
  for (double sum : sums) codes += projection_distance(largest, sum);
  return codes;
}

}  // namespace cohom
