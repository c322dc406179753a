#include "codecs/packed/packed_histogram.hpp"

#include "kernels/packed/body/packed_quantize.hpp"

namespace cohom {

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

}  // namespace cohom
