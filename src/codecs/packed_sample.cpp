#include "codecs/packed_sample.hpp"

#include "kernels/body/element.hpp"
#include "kernels/body/float_bits.hpp"
#include "kernels/body/packed_quantize.hpp"
#include "kernels/body/random.hpp"
#include "kernels/packed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace cohom {
namespace {

using namespace kernels::body;
using kernels::packed_mini;

constexpr std::int32_t codes_per_octave = PackedStep::codes_per_octave;

/// A sample costs four bytes. One in 16 mini-blocks takes a sixteenth of a bit a value and finds the
/// growth of sums within 0.1 bit for 64 Ki values; 512 samples find it within 0.05.
constexpr std::size_t minis_a_sample = 16, least_samples = 16, most_samples = 512;

/// A projection adds up 32 magnitudes.
constexpr int projection_octaves = 5;

/// Of a scaled maximum (below 2^-5) in the lowest octave that is counted.
constexpr std::int32_t lowest_code = -codes_per_octave * (projection_octaves + 32);

/// Values may cancel: smaller shares of the largest value count as this one.
constexpr double least_projection = 1.0 / 64;

/// Deviations from expected widths are whole numbers of 2^-20 bits.
constexpr double deviation_unit = 0x1p-20;

std::size_t sample_count(std::size_t elements) {
  const std::size_t wanted = elements / packed_mini / minis_a_sample;
  return wanted < least_samples ? 0 : std::min(wanted, most_samples);
}

std::uint32_t counter(ConstWords words, std::size_t index) {
  return static_cast<std::uint32_t>(words[index / 2] >> (index % 2 * 32));
}

void add_to_counter(Words words, std::size_t index, std::uint32_t value) {
  words[index / 2] += std::uint64_t{value} << (index % 2 * 32);
}

/// Width of mini-blocks whose largest magnitudes lie in one octave, evenly by their logarithm, as a
/// function of (octave code - step code): a straight line down to half an octave below the step.
double width_of_octave(std::int32_t code_difference) {
  constexpr std::int32_t least = -codes_per_octave / 2;
  const std::int32_t end = code_difference + codes_per_octave;
  const std::int32_t first = std::clamp(code_difference, least, std::max(least, end));
  if (first >= end) return 0;
  const double mean_code = (first + end) / 2.0;
  return (end - first) * ((mean_code - least) / codes_per_octave + 1) / codes_per_octave;
}

double total_width(std::span<const std::uint32_t> counts, std::int32_t first_code) {
  double bits = 0;
  for (std::size_t octave = 0; octave < counts.size(); ++octave)
    if (counts[octave] != 0)
      bits += counts[octave] *
              width_of_octave(first_code + static_cast<std::int32_t>(octave) * codes_per_octave);
  return bits;
}

/// 32 log2, with a straight line in every octave, rounded down.
std::int32_t log_code(double magnitude) {
  return static_cast<std::int32_t>(bits_of(magnitude) >> 47) -
         codes_per_octave * FloatFormat<double>::bias;
}

using Mini = std::array<double, packed_mini>;

template <class T>
Mini load_mini(const PackedVector& vector, std::size_t first) {
  using Real = Arithmetic<T>;
  Mini values;
  for (std::size_t i = 0; i < packed_mini; ++i)
    values[i] = vector.feedback == nullptr ? load_element<T>(vector.input, first + i)
                                           : load_element<Real>(vector.feedback, first + i);
  return values;
}

double largest_magnitude(const Mini& values) {
  double largest = 0;
  for (double value : values) largest = std::abs(value) <= largest ? largest : std::abs(value);
  return largest;
}

/// Sum of the values, negated where `signs` has a bit. 0 unless all are finite.
double project(const Mini& values, std::uint32_t signs) {
  double sum = 0;
  for (std::size_t i = 0; i < packed_mini; ++i)
    sum += (signs >> i & 1) != 0 ? -values[i] : values[i];
  return std::abs(sum) <= 1 ? sum : 0;
}

/// Probability that none of the steps rounds to an integer of at least `above`, or of at most -`below`.
double probability_of_none(const Mini& steps, double above, double below, bool nearest) {
  double none = 1;
  for (double value : steps) {
    const double over =
        std::clamp(value > 0 ? value - (above - 1) : -value - (below - 1), 0.0, 1.0);
    none *= nearest ? (over < 0.5 ? 1 : 0) : 1 - over;
  }
  return none;
}

/// Width that rounding gives these values on average, their largest magnitude being `largest` steps.
double mean_width(const Mini& steps, double largest, bool nearest) {
  if (largest < 0.7) return 0;
  double width = 1 - probability_of_none(steps, 1, 1, nearest);
  double power = 1;
  for (int octave = 0; octave < 29 && largest > power - 1; ++octave, power *= 2)
    width += largest >= power + 1 ? 1 : 1 - probability_of_none(steps, power, power + 1, nearest);
  return width;
}

/// By how much a mini-block is wider than expected of one with such a maximum, in deviation units.
template <class Real>
std::int64_t deviation(const Mini& values, double largest, PackedStep step, bool nearest) {
  const std::size_t bin = packed_bin(static_cast<Real>(largest));
  if (bin == 0) return 0;
  const std::int32_t octave = octave_code<Real>(bin);
  const double inverse = 1 / step.value();
  if (!std::isfinite(inverse)) return 0;  // everything escapes
  Mini steps;
  for (std::size_t i = 0; i < packed_mini; ++i) steps[i] = values[i] * inverse;
  const double excess = mean_width(steps, largest * inverse, nearest) -
                        expected_width((bin - 1) % 4, octave - step.code);
  return static_cast<std::int64_t>(std::nearbyint(excess / deviation_unit));
}

}  // namespace

double PackedFindings::sum_width(ElementType type, const PackedHistogram& histogram,
                                 PackedStep step) const {
  const double sums = total_width(sums_, sum_code_ - shift_code_ - step.code);
  const double maxima = total_width(maxima_, maximum_code_ - step.code);
  double all = 0, minis = histogram.counts[0];
  for (std::size_t i = 1; i < PackedHistogram::window; ++i) {
    if (histogram.counts[i] == 0) continue;
    all += histogram.counts[i] * width_of_octave(octave_code(type, histogram.bin(i)) - step.code);
    minis += histogram.counts[i];
  }
  const auto samples = static_cast<double>(samples_);
  return sums / samples + all / minis - maxima / (samples * ranks_);
}

PackedSample::PackedSample(std::uint32_t ranks, std::size_t elements, std::uint64_t key)
    : ranks_(ranks),
      elements_(elements),
      key_(key),
      samples_(ranks == 1 ? 0 : sample_count(elements)),
      precision_(30 - std::bit_width(ranks - 1)) {}

std::size_t PackedSample::first_element(std::size_t sample, std::uint32_t frame) const {
  const std::size_t minis = elements_ / packed_mini;
  const std::uint64_t within = std::uint64_t{draw(frame, 0)} * (minis / samples_) >> 32;
  return (sample * minis / samples_ + within) * packed_mini;
}

void PackedSample::look(const PackedVector& vector, std::int32_t top_code, PackedStep step,
                        bool nearest, Words out) const {
  std::ranges::fill(out, 0u);
  const Words counters = out.subspan(2);
  const int exponent = top_code / codes_per_octave + 1 + projection_octaves;
  const auto bias = std::int32_t{1} << precision_;
  std::int64_t deviations = 0, distances = 0;
  with_element_type(vector.type, [&]<class T>(T) {
    for (std::size_t sample = 0; sample < samples_; ++sample) {
      const std::uint32_t frame = kernels::body::frame(key_, sample);
      Mini values = load_mini<T>(vector, first_element(sample, frame));
      double largest = largest_magnitude(values);
      if (std::isfinite(largest))
        deviations += deviation<Arithmetic<T>>(values, largest, step, nearest);
      for (double& value : values) value = scaled(value, -exponent);
      const double projection = project(values, draw(frame, 1));
      const auto integer = static_cast<std::int32_t>(std::nearbyint(projection * bias));
      add_to_counter(counters, PackedFindings::octaves + sample,
                     static_cast<std::uint32_t>(integer + bias));
      largest = largest_magnitude(values);
      const std::int32_t code = log_code(largest) - lowest_code;
      if (!std::isfinite(largest) || code < 0) continue;
      add_to_counter(counters, static_cast<std::size_t>(code / codes_per_octave), 1);
      distances +=
          log_code(largest) - log_code(std::max(std::abs(projection), largest * least_projection));
    }
  });
  out[0] = static_cast<std::uint64_t>(deviations);
  out[1] = static_cast<std::uint64_t>(distances);
}

PackedFindings PackedSample::findings(ConstWords sum, std::int32_t top_code,
                                      unsigned down_shift) const {
  const ConstWords counters = sum.subspan(2);
  const auto deviations = static_cast<double>(static_cast<std::int64_t>(sum[0]));
  const auto distances = static_cast<double>(static_cast<std::int64_t>(sum[1]));
  PackedFindings findings;
  findings.samples_ = samples_;
  findings.ranks_ = ranks_;
  findings.deviation_ = deviations * deviation_unit / static_cast<double>(samples_ * ranks_);
  double counted = 0;
  for (std::size_t octave = 0; octave < PackedFindings::octaves; ++octave)
    counted += findings.maxima_[octave] = counter(counters, octave);
  const std::int32_t scale_code = top_code + codes_per_octave * (1 + projection_octaves);
  findings.shift_code_ = static_cast<std::int32_t>(down_shift) * codes_per_octave;
  findings.maximum_code_ = scale_code + lowest_code;
  findings.sum_code_ = scale_code - codes_per_octave * precision_;
  if (counted != 0)
    findings.sum_code_ += static_cast<std::int32_t>(std::nearbyint(distances / counted));
  const std::int64_t bias = std::int64_t{ranks_} << precision_;
  for (std::size_t sample = 0; sample < samples_; ++sample) {
    const std::int64_t projection = counter(counters, PackedFindings::octaves + sample) - bias;
    const auto magnitude = static_cast<std::uint64_t>(std::abs(projection));
    if (magnitude != 0) ++findings.sums_[static_cast<std::size_t>(std::bit_width(magnitude)) - 1];
  }
  return findings;
}

}  // namespace cohom
