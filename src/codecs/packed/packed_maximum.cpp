#include "codecs/packed/packed_maximum.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/packed/packed_histogram.hpp"
#include "codecs/packed/packed_step.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace cohom {
namespace {

/// Makes codes of steps positive, so that their maximum can be taken as unsigned numbers.
constexpr std::int32_t step_offset = 1 << 20;
/// Codes of steps that any rank can want: from 2^29 steps in the least denormal of f64 to twice its
/// largest number.
constexpr std::int32_t min_step_code = codes_per_octave * (-1074 - 32),
                       max_step_code = codes_per_octave * (1024 + 2);

}  // namespace

PackedMaximum::PackedMaximum(const CodecContext& context, const PackedOptions& options,
                             std::uint32_t limit, const CallBuffers& call)
    : Round({.name = "maximum", .merge = {MergeKind::max}, .scope = RoundScope::vector}),
      type_(context.type),
      kernels_(context.kernels.packed),
      window_(context.memory),
      options_(options),
      limit_(limit),
      call_(call),
      measured_(context.workers) {
  if (options.counts())
    measured_.for_each([&](Measured& measured) { measured.bins.resize(packed_bins(type_)); });
}

void PackedMaximum::start() {
  measured_.for_each([](Measured& measured) {
    std::ranges::fill(measured.bins, 0u);
    measured.largest = 0;
  });
}

std::size_t PackedMaximum::encode(std::size_t, const Piece& piece, Payload out) {
  measure(piece);
  if (!call_.is_last(piece)) return 1;
  add_workers();
  out[0] = own_maximum();
  return 1;
}

/// All pieces are measured.
void PackedMaximum::add_workers() {
  Measured& sum = measured_.owners();
  measured_.for_each([&](const Measured& measured) {
    if (&measured == &sum) return;
    for (std::size_t i = 0; i < sum.bins.size(); ++i) sum.bins[i] += measured.bins[i];
    sum.largest = std::max(sum.largest, measured.largest);
  });
}

void PackedMaximum::measure(const Piece& piece) {
  if (options_.target != PackedTarget::relative_error) {
    kernels_.measure({type_, piece.first, piece.count}, call_.input_at(piece.first),
                     call_.feedback_at(piece.first), measured_.mine().bins.data());
    return;
  }
  double& largest = measured_.mine().largest;
  using namespace kernels::body;
  with_element_type(type_, [&]<class T>(T) {
    HostWindow::for_each_run(piece.count, [&](std::size_t done, std::size_t count) {
      const std::byte* const from =
          window_.read(call_.input_at(piece.first + done), count * sizeof(T));
      for (std::size_t i = 0; i < count; ++i) {
        const double value = std::abs(static_cast<double>(load_element<T>(from, i)));
        if (value <= std::numeric_limits<double>::max()) largest = std::max(largest, value);
      }
    });
  });
}

/// What the ranks take the maximum of: a bin, a step or a magnitude, as a number that orders like
/// it; 0 on a rank of zeros, which must not decide.
std::uint32_t PackedMaximum::own_maximum() const {
  const auto& [bins, largest] = measured_.owners();
  if (options_.target == PackedTarget::relative_error)
    return largest == 0 ? 0  // rounded down, but no zero
                        : static_cast<std::uint32_t>(
                              std::max<std::uint64_t>(kernels::body::bits_of(largest) >> 32, 1));
  const std::size_t top = top_bin(bins);
  if (options_.target != PackedTarget::max_bits || top == 0) return static_cast<std::uint32_t>(top);
  const PackedForecast forecast(type_, PackedHistogram::of(bins, top));
  const PackedStep step = forecast.step_for(options_.bits, limit_);
  return static_cast<std::uint32_t>(step.code + step_offset);
}

std::uint64_t PackedMaximum::maximum(const Piece& piece) const {
  const std::uint64_t maximum = agreed(piece)[0];
  if (maximum == 0) return maximum;
  switch (options_.target) {
    case PackedTarget::mean_bits:
    case PackedTarget::squared_error:
      if (maximum < bins().size()) return maximum;
      refuse_agreed("packed", "maximum", maximum, "bins below " + std::to_string(bins().size()));
    case PackedTarget::max_bits:
      if (maximum >= std::uint64_t{step_offset + min_step_code} &&
          maximum <= std::uint64_t{step_offset + max_step_code})
        return maximum;
      refuse_agreed("packed", "maximum", maximum,
                    "steps from " + std::to_string(step_offset + min_step_code) + " to " +
                        std::to_string(step_offset + max_step_code));
    case PackedTarget::relative_error: {
      const std::uint64_t largest =
          kernels::body::bits_of(std::numeric_limits<double>::max()) >> 32;
      if (maximum <= largest) return maximum;
      refuse_agreed("packed", "maximum", maximum, "magnitudes up to " + std::to_string(largest));
    }
    case PackedTarget::absolute_error: break;  // has no such round
  }
  return maximum;
}

PackedStep PackedMaximum::largest_step(const Piece& piece) const {
  return {static_cast<std::int32_t>(maximum(piece)) - step_offset};
}

}  // namespace cohom
