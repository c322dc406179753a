#include "codecs/packed/packed_sample.hpp"

#include "codecs/common/agreed_value.hpp"
#include "kernels/core/body/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace cohom {
namespace {

using kernels::packed_mini;
using kernels::body::draw;

/// A sample costs four bytes a rank and hop: a sixth of a bit a value (1/8 with 2 ranks), and finds
/// the bits of 64 Ki values within 0.05 (one standard deviation); 512 samples find them within
/// 0.04.
constexpr std::size_t minis_a_sample_and_hop = 4, min_samples = 32, max_samples = 512;

/// A projection adds up 32 magnitudes.
constexpr int projection_octaves = 5;

/// Of a scaled maximum (below 2^-5) in the lowest octave that is counted.
constexpr std::int32_t lowest_code = -codes_per_octave * (projection_octaves + 32);

/// Deviations from expected widths are whole numbers of 2^-20 bits.
constexpr double deviation_unit = 0x1p-20;

/// So many samples are looked at closely: mixed with so many of their neighbours at most.
constexpr std::size_t max_mixtures = 64;
constexpr std::uint32_t max_mixed_minis = 8;

/// No width is above 31, and a distance is one of -5 to 6 octaves: more than ranks can send.
constexpr std::uint64_t max_deviation = std::uint64_t{32} << 20;
constexpr std::uint64_t max_distance = 8 * codes_per_octave;

/// Squared shapes are whole numbers of 2^-40.
constexpr double square_unit = 0x1p-40;

/// log2 with a straight line between powers of two: libm's differs by machine.
double line_log2(std::uint32_t number) {
  const auto octave = static_cast<unsigned>(std::bit_width(number)) - 1;
  return octave + static_cast<double>(number) / (std::uint64_t{1} << octave) - 1;
}

std::size_t sample_count(std::uint32_t ranks, std::size_t elements) {
  const auto hops = std::max<std::size_t>(2, std::size_t(std::bit_width(ranks - 1)));
  const std::size_t wanted = elements / packed_mini / (minis_a_sample_and_hop * hops);
  return wanted < min_samples ? 0 : std::min(wanted, max_samples);
}

std::uint32_t counter(ConstPayload words, std::size_t index) {
  return static_cast<std::uint32_t>(words[index / 2] >> (index % 2 * 32));
}

void add_to_counter(Payload words, std::size_t index, std::uint32_t value) {
  words[index / 2] += std::uint64_t{value} << (index % 2 * 32);
}

/// Crests of mini-blocks that are not zero: a count and a sum over them.
struct Crests {
  std::uint32_t count = 0;
  std::int64_t codes = 0;

  void add(const PackedMini& values, std::uint32_t frame) {
    const double largest = largest_magnitude(values);
    if (!std::isfinite(largest) || log_code(largest) < lowest_code) return;
    ++count;
    codes += crest(values, largest, frame);
  }
  [[nodiscard]] double mean() const {
    return static_cast<double>(codes) / (count * crest_patterns);
  }
};

Crests crests(std::uint64_t count, std::uint64_t codes) {
  return {.count = static_cast<std::uint32_t>(count), .codes = static_cast<std::int64_t>(codes)};
}

/// Magnitudes as shares of the largest, without their mean: what is alike in them is where large
/// values are.
PackedMini shape_of(const PackedMini& values, double largest) {
  PackedMini shape{};
  if (largest == 0 || !std::isfinite(largest)) return shape;
  double mean = 0;
  for (std::size_t i = 0; i < packed_mini; ++i) mean += shape[i] = std::abs(values[i]) / largest;
  mean /= packed_mini;
  for (double& share : shape) share -= mean;
  return shape;
}

}  // namespace

PackedSample::PackedSample(std::uint32_t ranks, std::size_t elements, std::uint64_t key)
    : ranks_(ranks),
      elements_(elements),
      key_(key),
      samples_(ranks == 1 ? 0 : sample_count(ranks, elements)),
      precision_(30 - std::bit_width(ranks - 1)) {}

std::size_t PackedSample::mini_of(std::size_t sample, std::uint32_t frame) const {
  const std::size_t minis = elements_ / packed_mini;
  const std::uint64_t within = std::uint64_t{draw(frame, 0)} * (minis / samples_) >> 32;
  return sample * minis / samples_ + within;
}

void PackedSample::list(std::vector<std::size_t>& minis) const {
  for (std::size_t sample = 0; sample < samples_; ++sample) {
    const std::size_t mini = mini_of(sample, kernels::body::frame(key_, sample));
    minis.push_back(mini);
    if (sample % mixed_stride() != 0) continue;
    for (std::uint32_t k = 0; k < mixed_minis(); ++k)
      minis.push_back((mini + k) % (elements_ / packed_mini));
  }
}

void PackedSample::take(const PackedVector& vector, std::int32_t top_code, PackedStep step,
                        bool nearest, Payload out) const {
  std::ranges::fill(out, 0u);
  const Payload counters = out.subspan(fixed_words);
  const int exponent = -(top_code / codes_per_octave + 1 + projection_octaves);
  std::int64_t deviations = 0, distances = 0, squares = 0;
  Crests own, mixed;
  for (std::size_t sample = 0; sample < samples_; ++sample) {
    const std::uint32_t frame = kernels::body::frame(key_, sample);
    const std::size_t mini = mini_of(sample, frame);
    const double deviation =
        width_deviation(vector.type, vector.mini(mini * packed_mini), step, nearest);
    deviations += static_cast<std::int64_t>(std::nearbyint(deviation / deviation_unit));

    const PackedMini values = vector.mini(mini * packed_mini, exponent);
    const double largest = largest_magnitude(values);
    const double sum = projection(values, draw(frame, 1));
    const double projected = std::abs(sum) <= 1 ? sum : 0;  // 0: of a value that is no number
    add_to_counter(counters, PackedFindings::octaves + sample, fixed_point(projected));
    const std::int32_t code = log_code(largest) - lowest_code;
    if (std::isfinite(largest) && code >= 0) {
      add_to_counter(counters, static_cast<std::size_t>(code / codes_per_octave), 1);
      distances += projection_distance(largest, std::abs(projected));
    }
    if (sample % mixed_stride() != 0) continue;
    own.add(values, frame);
    mixed.add(mix(vector, mini, exponent, draw(frame, 2)), frame);
    const double shape = projection(shape_of(values, largest), draw(frame, 1)) / packed_mini;
    squares += static_cast<std::int64_t>(std::nearbyint(shape * shape / square_unit));
    add_to_counter(counters, first_shape() + sample / mixed_stride(), fixed_point(shape));
  }
  out[0] = static_cast<std::uint64_t>(deviations);
  out[1] = static_cast<std::uint64_t>(distances);
  out[2] = own.count | std::uint64_t{mixed.count} << 32;
  out[3] = static_cast<std::uint64_t>(own.codes);
  out[4] = static_cast<std::uint64_t>(mixed.codes);
  out[5] = static_cast<std::uint64_t>(squares);
}

/// Not negative, so that sums do not carry into their neighbours.
std::uint32_t PackedSample::fixed_point(double projection) const {
  const auto unit = std::int32_t{1} << precision_;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::nearbyint(projection * unit)) +
                                    unit);
}

std::int64_t PackedSample::fixed_point_sum(ConstPayload counters, std::size_t index) const {
  return counter(counters, index) - (std::int64_t{ranks_} << precision_);
}

/// As the sum of uncorrelated ranks would look: neighbours of a mini-block have its scale, density
/// and distribution.
PackedMini PackedSample::mix(const PackedVector& vector, std::size_t mini, int exponent,
                             std::uint32_t signs) const {
  PackedMini sum{};
  for (std::uint32_t k = 0; k < mixed_minis(); ++k) {
    const std::size_t neighbour = (mini + k) % (elements_ / packed_mini);
    const PackedMini values = vector.mini(neighbour * packed_mini, exponent);
    for (std::size_t i = 0; i < packed_mini; ++i)
      sum[i] += (signs >> k & 1) != 0 ? -values[i] : values[i];
  }
  return sum;
}

void PackedSample::check(ConstPayload sum) const {
  const ConstPayload counters = sum.subspan(fixed_words);
  const auto expect_at_most = [](std::uint64_t value, std::uint64_t most, const char* what) {
    if (value > most)
      refuse_agreed("packed", "histogram", value, what + (" up to " + std::to_string(most)));
  };
  const auto expect_within = [&](std::uint64_t word, std::uint64_t most, const char* what) {
    const auto value = static_cast<std::int64_t>(word);
    expect_at_most(value < 0 ? 0 - word : word, most, what);
  };
  const std::uint64_t samples = samples_ * ranks_, mixed = mixtures() * ranks_;
  std::uint64_t maxima = 0;
  for (std::size_t octave = 0; octave < PackedFindings::octaves; ++octave)
    maxima += counter(counters, octave);
  const std::uint64_t own = sum[2] & 0xffff'ffffu;
  expect_at_most(maxima, samples, "maxima of samples");
  expect_at_most(own, mixed, "crests");
  expect_at_most(sum[2] >> 32, mixed, "crests of mixtures");
  expect_within(sum[0], samples * max_deviation, "deviations");
  expect_within(sum[1], maxima * max_distance, "distances");
  expect_within(sum[3], own * crest_patterns * max_distance, "codes of crests");
  expect_within(sum[4], (sum[2] >> 32) * crest_patterns * max_distance, "codes of mixtures");
  expect_at_most(sum[5], mixed << 40, "squares");
}

PackedFindings PackedSample::findings(ConstPayload sum, std::int32_t top_code,
                                      unsigned down_shift) const {
  const ConstPayload counters = sum.subspan(fixed_words);
  const auto signed_word = [&](std::size_t i) {
    return static_cast<double>(static_cast<std::int64_t>(sum[i]));
  };
  PackedFindings findings;
  findings.samples_ = samples_;
  findings.ranks_ = ranks_;
  findings.deviation_ = signed_word(0) * deviation_unit / static_cast<double>(samples_ * ranks_);
  const std::int32_t scale_code = top_code + codes_per_octave * (1 + projection_octaves);
  findings.shift_code_ = static_cast<std::int32_t>(down_shift) * codes_per_octave;
  findings.maximum_code_ = scale_code + lowest_code;
  findings.sum_code_ = scale_code - codes_per_octave * precision_;
  for (std::size_t octave = 0; octave < PackedFindings::octaves; ++octave)
    findings.maxima_[octave] = counter(counters, octave);
  for (std::size_t sample = 0; sample < samples_; ++sample) {
    const std::int64_t projected = fixed_point_sum(counters, PackedFindings::octaves + sample);
    const auto magnitude = static_cast<std::uint64_t>(std::abs(projected));
    if (magnitude != 0) ++findings.sums_[static_cast<std::size_t>(std::bit_width(magnitude)) - 1];
  }
  findings.sum_code_ += static_cast<std::int32_t>(std::nearbyint(crest_of_sums(sum)));
  return findings;
}

/// How far the largest value of a sum stands out of its projection, in codes: as in contributions
/// where the ranks' shapes are alike, as in mixtures where they are uncorrelated.
double PackedSample::crest_of_sums(ConstPayload sum) const {
  const ConstPayload counters = sum.subspan(fixed_words);
  double count = 0, squares = 0;
  for (std::size_t octave = 0; octave < PackedFindings::octaves; ++octave)
    count += counter(counters, octave);
  if (count == 0) return 0;
  const double own = static_cast<double>(static_cast<std::int64_t>(sum[1])) / count;
  const Crests contributions = crests(sum[2] & 0xffff'ffffu, sum[3]);
  const Crests mixed = crests(sum[2] >> 32, sum[4]);
  for (std::size_t i = 0; i < mixtures(); ++i) {
    const double shape =
        std::ldexp(static_cast<double>(fixed_point_sum(counters, first_shape() + i)), -precision_);
    squares += shape * shape;
  }
  const double own_squares = static_cast<double>(sum[5]) * square_unit;
  if (contributions.count == 0 || mixed.count == 0 || own_squares == 0 || squares == 0) return own;
  const double ranks = line_log2(ranks_);
  const double alike = log_code(squares / own_squares) / double{codes_per_octave};
  const double uncorrelated = std::clamp(ranks - alike, 0.0, ranks);
  return own + uncorrelated / line_log2(mixed_minis()) * (mixed.mean() - contributions.mean());
}

std::uint32_t PackedSample::mixed_minis() const { return std::min(ranks_, max_mixed_minis); }

std::size_t PackedSample::mixed_stride() const {
  return (samples_ + max_mixtures - 1) / max_mixtures;
}

}  // namespace cohom
