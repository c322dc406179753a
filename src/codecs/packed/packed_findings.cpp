#include "codecs/packed/packed_findings.hpp"

#include <algorithm>
#include <span>

namespace cohom {
namespace {

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

}  // namespace cohom
