#include "codecs/packed/packed_histogram.hpp"

#include "codecs/common/agreed_value.hpp"
#include "kernels/packed/body/packed_quantize.hpp"

#include <cstring>
#include <limits>
#include <string>

namespace cohom {
namespace {

constexpr std::uint64_t units_of(std::uint64_t count, unsigned shift) {
  return (count >> shift) + ((count & ((std::uint64_t{1} << shift) - 1)) != 0 ? 1 : 0);
}

}  // namespace

unsigned packed_count_shift(std::uint64_t minis, std::uint32_t ranks) {
  const std::uint64_t most = std::numeric_limits<std::uint32_t>::max() / ranks;
  unsigned shift = 0;
  while (units_of(minis, shift) > most) ++shift;
  return shift;
}

std::size_t packed_bins(ElementType type) {
  using namespace kernels::body;
  return type == ElementType::f64 ? PackedBins<double>::count : PackedBins<float>::count;
}

std::size_t top_bin(std::span<const std::uint32_t> bins) {
  std::size_t top = bins.size() - 1;
  while (top > 0 && bins[top] == 0) --top;
  return top;
}

PackedHistogram PackedHistogram::of(std::span<const std::uint32_t> bins, std::size_t top) {
  PackedHistogram histogram{.top = top};
  for (std::size_t bin = 0; bin <= top; ++bin) {
    const std::size_t below = top - bin;
    histogram.counts[below < window - 1 && bin > 0 ? window - 1 - below : 0] += bins[bin];
  }
  return histogram;
}

PackedHistogram PackedHistogram::in_units(unsigned shift) const {
  PackedHistogram histogram = *this;
  for (std::uint32_t& count : histogram.counts)
    count = static_cast<std::uint32_t>(units_of(count, shift));
  return histogram;
}

void PackedHistogram::write(std::span<std::uint64_t> out) const {
  for (std::size_t i = 0; i < words; ++i)
    out[i] = counts[2 * i] | std::uint64_t{counts[2 * i + 1]} << 32;
}

PackedHistogram PackedHistogram::read(std::span<const std::uint64_t> sum, std::size_t top) {
  PackedHistogram histogram{.top = top};
  std::memcpy(histogram.counts.data(), sum.data(), sizeof histogram.counts);
  return histogram;
}

void PackedHistogram::check(std::uint64_t minis, unsigned shift, std::uint32_t ranks) const {
  const std::uint64_t most = ((minis >> shift) + (shift == 0 ? 0 : window)) * ranks;
  std::uint64_t counted = 0;
  for (std::size_t i = 0; i < window; ++i) {
    counted += counts[i];
    if (counts[i] != 0 && i != 0 && i + top < window)
      refuse_agreed("packed", "histogram", counts[i],
                    "none in bin " + std::to_string(i) + ", which is below all magnitudes");
  }
  if (counted > most)
    refuse_agreed("packed", "histogram", counted, "mini-blocks up to " + std::to_string(most));
}

}  // namespace cohom
