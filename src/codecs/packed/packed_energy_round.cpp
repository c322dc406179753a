#include "codecs/packed/packed_energy_round.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/common/nmse.hpp"
#include "kernels/core/body/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace cohom {

PackedEnergyRound::PackedEnergyRound(const CodecContext& context, const PackedOptions& options,
                                     std::uint32_t limit, const PackedMaximum& maximum,
                                     const CallBuffers& call)
    : Round({.name = "energy", .merge = {MergeKind::add}, .scope = RoundScope::vector}),
      type_(context.type),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      window_(context.memory),
      options_(options),
      limit_(limit),
      maximum_(maximum),
      call_(call),
      sums_(context.workers) {}

void PackedEnergyRound::reserve(std::size_t elements) {
  elements_ = elements;
  sums_.for_each([&](PackedEnergy::Sums& sums) { sums = energy().empty(); });
}

void PackedEnergyRound::start() {
  sums_.for_each([](PackedEnergy::Sums& sums) { std::ranges::fill(sums, 0.0); });
}

PackedEnergy PackedEnergyRound::energy() const {
  using kernels::body::Stream;
  return {ranks_, elements_, kernels::body::key(options_.seed, call_.step, Stream::energy, 0)};
}

std::uint64_t PackedEnergyRound::minis() const {
  return (elements_ + kernels::packed_mini - 1) / kernels::packed_mini;
}

unsigned PackedEnergyRound::count_shift() const {
  return packed_count_shift(elements_ / kernels::packed_mini + 1, ranks_);
}

PackedErrors PackedEnergyRound::errors(const PackedHistogram& histogram) const {
  return {type_, histogram, minis(), count_shift(), options_, ranks_, limit_};
}

std::size_t PackedEnergyRound::encode(std::size_t, const Piece& piece, Payload out) {
  const std::size_t top = maximum_.maximum(piece);
  if (top != 0) add(piece, top);
  if (call_.is_last(piece)) write(top, out);
  return out.size();
}

void PackedEnergyRound::add(const Piece& piece, std::size_t top) {
  const int end = errors({.top = top}).end();
  HostWindow::for_each_run(piece.count, [&](std::size_t done, std::size_t count) {
    const std::byte* const elements =
        window_.read(call_.input_at(piece.first + done), count * size_of(type_));
    energy().add(type_, elements, piece.first + done, count, end, sums_.mine());
  });
}

void PackedEnergyRound::write(std::size_t top, Payload out) {
  if (const std::size_t own = top_bin(maximum_.bins()); top < own)
    refuse_agreed("packed", "maximum", top, "this rank alone " + std::to_string(own));
  PackedHistogram::of(maximum_.bins(), top)
      .in_units(count_shift())
      .write(out.first(PackedHistogram::words));
  PackedEnergy::Sums& sum = sums_.owners();
  sums_.for_each([&](const PackedEnergy::Sums& sums) {
    if (&sums == &sum) return;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sums[i];
  });
  energy().write(sum, out.subspan(PackedHistogram::words));
}

double PackedEnergyRound::step(const Piece& piece) const {
  const ConstPayload words = agreed(piece);
  const auto histogram =
      PackedHistogram::read(words.first(PackedHistogram::words), maximum_.maximum(piece));
  histogram.check(minis(), count_shift(), ranks_);
  const ConstPayload sums = words.subspan(PackedHistogram::words);
  energy().check(sums);
  const double nmse = options_.error - nmse_of_rounding(type_);
  const PackedStep step = errors(histogram).step_for(nmse * energy().at_least(sums));
  // Below the least number of f64 no step is small enough, and everything is an outlier.
  return std::max(step.value(), std::numeric_limits<double>::denorm_min());
}

double PackedEnergyRound::largest(const Piece& piece) const {
  const std::size_t top = maximum_.maximum(piece);
  return top == 0 ? 0 : std::ldexp(1.0, errors({.top = top}).end());
}

}  // namespace cohom
