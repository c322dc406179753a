#include "codecs/packed/packed_step.hpp"

#include <bit>

namespace cohom {

void PackedForecast::assume_uncorrelated(std::uint32_t ranks, unsigned down_shift) {
  const int octave = std::bit_width(ranks) - 1;
  const double within = static_cast<double>(ranks) / std::bit_floor(ranks) - 1;
  growth_ = (octave + within) / 2 - down_shift;
}

double PackedForecast::contribution_bits(PackedStep step) const {
  double bits = 0, minis = histogram_.counts[0];
  for (std::size_t i = 1; i < PackedHistogram::window; ++i) {
    if (histogram_.counts[i] == 0) continue;
    const std::size_t bin = histogram_.bin(i);
    bits +=
        histogram_.counts[i] * expected_width((bin - 1) % 4, octave_code(type_, bin) - step.code);
    minis += histogram_.counts[i];
  }
  return bits / minis + packed_header_bits;
}

double PackedForecast::bits(PackedStep step) const {
  const double contributions = contribution_bits(step);
  if (!findings_.known()) return contributions + growth_ / 2;
  const double sums = findings_.sum_width(type_, histogram_, step) + packed_header_bits;
  return (contributions + findings_.deviation() + sums) / 2;
}

PackedStep PackedForecast::step_for(double bits, std::uint32_t limit) const {
  if (histogram_.top == 0) return {};
  const std::int32_t octave = codes_per_octave;
  const std::int32_t end = octave_code(type_, histogram_.top) + octave;
  // The largest magnitude is below 2^(end / 32), and must be at most `limit` steps.
  std::int32_t low = end - octave * (static_cast<int>(std::bit_width(limit)) - 1);
  std::int32_t high = end + octave;  // everything is dropped
  if (this->bits({low}) <= bits) return {low};
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (this->bits({middle}) <= bits ? high : low) = middle;
  }
  return {high};
}

}  // namespace cohom
