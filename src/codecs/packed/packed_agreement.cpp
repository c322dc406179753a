#include "codecs/packed/packed_agreement.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/packed/packed_histogram.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/body/random.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace cohom {
namespace {

/// What a PackedSample adds comes behind them.
constexpr std::size_t histogram_words = PackedHistogram::words;

/// What the budget pays for the agreement on a call. That has fewer words by now; the number stays,
/// so that steps, and with them the bits of sums, stay.
constexpr std::size_t call_words = 26;

/// The most that the agreement may take of a budget; short vectors pay more for it than it allows.
constexpr double largest_agreement = 0.15;

/// A rank counts mini-blocks in 32 bits.
constexpr std::uint64_t max_counted_elements =
    kernels::packed_mini * std::uint64_t{std::numeric_limits<std::uint32_t>::max()};

/// An error bound in steps of all ranks, a little below so that no rounding of arithmetic breaks
/// it.
double step_for_bound(double error, std::uint32_t ranks) {
  return 2 * error / ranks * (1 - 0x1p-20);
}

/// Bits a value, all in, of words that every rank sends log2(ranks) times (recursive doubling).
double agreement_bits(std::size_t words, std::uint32_t ranks, std::size_t elements) {
  const auto hops = static_cast<double>(std::bit_width(ranks - 1));
  const double share = 2 * (1 - 1.0 / ranks);  // of the vector, that allreduce moves at least
  return 64 * static_cast<double>(words) * hops / (share * static_cast<double>(elements));
}

}  // namespace

PackedHistogramRound::PackedHistogramRound(const CodecContext& context,
                                           const PackedOptions& options, std::uint32_t limit,
                                           const PackedMaximum& maximum, const CallBuffers& call)
    : Round({.name = "histogram", .merge = {MergeKind::add}, .scope = RoundScope::vector}),
      type_(context.type),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      memory_(context.memory),
      options_(options),
      limit_(limit),
      maximum_(maximum),
      call_(call) {}

void PackedHistogramRound::reserve(std::size_t elements) {
  elements_ = elements;
  minis_.emplace(memory_, sample(elements).listed());
}

std::size_t PackedHistogramRound::capacity(std::size_t, std::size_t elements) const {
  return elements == 0 ? 0 : histogram_words + sample(elements).words();
}

std::size_t PackedHistogramRound::encode(std::size_t, const Piece& piece, Payload out) {
  if (!call_.is_last(piece)) return out.size();
  const std::size_t top = maximum_.maximum(piece);
  if (const std::size_t own = top_bin(maximum_.bins()); top < own)
    refuse_agreed("packed", "maximum", top, "this rank alone " + std::to_string(own));
  PackedHistogram::of(maximum_.bins(), top).in_units(count_shift()).write(out);
  take_sample(top, out.subspan(histogram_words));
  return out.size();
}

/// Samples the vector, with the step in mind that its own histogram gives.
void PackedHistogramRound::take_sample(std::size_t top, Payload out) {
  std::ranges::fill(out, 0u);
  if (top == 0 || out.empty()) return;
  PackedForecast own(type_, PackedHistogram::of(maximum_.bins(), top_bin(maximum_.bins())));
  own.assume_uncorrelated(ranks_, options_.down_shift);
  const PackedStep step = own.step_for(options_.bits, limit_);
  const PackedSample sampled = sample(elements_);
  minis_->list().clear();
  if (minis_->wants_list()) sampled.list(minis_->list());
  const bool fed = call_.feedback_at(0) != nullptr;
  minis_->fetch(fed ? call_.feedback_at(0) : call_.input_at(0),
                fed ? feedback_size(type_) : size_of(type_));
  sampled.take({type_, fed, &*minis_}, octave_code(type_, top), step,
               options_.dither == kernels::Dither::nearest, out);
}

std::uint64_t PackedHistogramRound::minis() const {
  return (elements_ + kernels::packed_mini - 1) / kernels::packed_mini;
}

unsigned PackedHistogramRound::count_shift() const {
  return packed_count_shift(elements_ / kernels::packed_mini + 1, ranks_);
}

PackedSample PackedHistogramRound::sample(std::size_t elements) const {
  using kernels::body::Stream;
  return {ranks_, elements, kernels::body::key(options_.seed, call_.step, Stream::sample, 0)};
}

/// So that contributions and sums together, and what was agreed on before them, meet the budget.
PackedStep PackedHistogramRound::step(const Piece& piece) const {
  const std::size_t top = maximum_.maximum(piece);
  const ConstPayload words = agreed(piece);
  const auto histogram = PackedHistogram::read(words, top);
  histogram.check(minis(), count_shift(), ranks_);
  PackedForecast forecast(type_, histogram);
  double bits = options_.bits;
  if (ranks_ > 1) {
    const PackedSample sampled = sample(elements_);
    if (sampled.words() == 0) {
      forecast.assume_uncorrelated(ranks_, options_.down_shift);
    } else {
      sampled.check(words.subspan(histogram_words));
      forecast.trust(sampled.findings(words.subspan(histogram_words), octave_code(type_, top),
                                      options_.down_shift));
    }
    bits -= std::min(agreement_bits(call_words + words.size(), ranks_, elements_),
                     largest_agreement * bits);
  }
  return forecast.step_for(bits, limit_);
}

PackedAgreement::PackedAgreement(const CodecContext& context, const PackedOptions& options,
                                 std::uint32_t limit, const CallBuffers& call)
    : ranks_(static_cast<std::uint32_t>(context.ranks)), options_(options) {
  if (options.target == PackedTarget::absolute_error) return;
  maximum_ = std::make_unique<PackedMaximum>(context, options, limit, call);
  rounds_.push_back(maximum_.get());
  if (options.target == PackedTarget::squared_error) {
    energy_ = std::make_unique<PackedEnergyRound>(context, options, limit, *maximum_, call);
    rounds_.push_back(energy_.get());
  }
  if (options.target != PackedTarget::mean_bits) return;
  histogram_ = std::make_unique<PackedHistogramRound>(context, options, limit, *maximum_, call);
  rounds_.push_back(histogram_.get());
}

void PackedAgreement::reserve(std::size_t elements) {
  if (options_.counts() && elements > max_counted_elements)
    throw Error(ErrorKind::unsupported, "packed: a vector of " + std::to_string(elements) +
                                            " elements is too long to be counted; it may have " +
                                            std::to_string(max_counted_elements) +
                                            ": reduce it in parts, or take abs_error or rel_error");
  if (histogram_) histogram_->reserve(elements);
  if (energy_) energy_->reserve(elements);
}

std::size_t PackedAgreement::device_scratch(std::size_t elements) const {
  return histogram_ ? histogram_->device_scratch(elements) : 0;
}

void PackedAgreement::start() {
  if (maximum_) maximum_->start();
  if (energy_) energy_->start();
}

double PackedAgreement::step(const Piece& piece) const {
  if (options_.target == PackedTarget::absolute_error)
    return step_for_bound(options_.error, ranks_);
  const std::uint64_t maximum = maximum_->maximum(piece);
  if (maximum == 0) return 1;
  if (options_.target == PackedTarget::relative_error) {
    // Of less than 2^-1041 only that is known: no step is small enough, and everything is an
    // outlier.
    if (maximum == 1) return kernels::body::from_bits<double>(1);
    return step_for_bound(options_.error * kernels::body::from_bits<double>(maximum << 32), ranks_);
  }
  if (options_.target == PackedTarget::max_bits) return maximum_->largest_step(piece).value();
  if (options_.target == PackedTarget::squared_error) return energy_->step(piece);
  return histogram_->step(piece).value();
}

/// f32 has 24 digits; with four to spare roundings of values are a sixteenth of a step's.
bool PackedAgreement::needs_f64(const Piece& piece, double step) const {
  constexpr double digits = 0x1p20;
  return energy_ && energy_->largest(piece) > step * digits;
}

}  // namespace cohom
