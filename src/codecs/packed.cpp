#include "codecs/packed.hpp"

#include "codecs/dither.hpp"
#include "codecs/escape_round.hpp"
#include "codecs/packed_options.hpp"
#include "codecs/packed_sample.hpp"
#include "codecs/packed_step.hpp"
#include "kernels/body/element.hpp"
#include "kernels/body/packed_quantize.hpp"
#include "kernels/body/random.hpp"
#include "kernels/packed.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace cohom {
namespace {

using kernels::Dither;
using kernels::packed_mini;

/// Steps below this are no normal numbers of f32 arithmetic, or their inverses are none.
constexpr double least_f32_step = 0x1p-100;

/// Rounds before the payload, where there are any.
enum Round : int { maximum_round, histogram_round };

/// Of two counters each; what a PackedSample adds comes behind them.
constexpr std::size_t histogram_words = PackedHistogram::window / 2;

/// Agreement of the ranks on a call, whatever its codec.
constexpr std::size_t call_words = 25;

/// The most that the agreement may take of a budget; short vectors pay more for it than it allows.
constexpr double largest_agreement = 0.1;

/// Makes codes of steps positive, so that their maximum can be taken as unsigned numbers.
constexpr std::int32_t step_offset = 1 << 20;

/// Sums of what escapes must not lose more than an error bound allows either.
ElementType escapes_in(const PackedOptions& options, ElementType type) {
  return options.bounded() ? ElementType::f64 : type;
}

std::vector<RoundInfo> make_rounds(const PackedOptions& options, ElementType type) {
  std::vector<RoundInfo> rounds;
  rounds.reserve(4);
  if (options.target != PackedTarget::absolute_error)
    rounds.push_back({.name = "maximum", .merge = {MergeKind::max}, .scope = RoundScope::vector});
  if (options.target == PackedTarget::mean_bits)
    rounds.push_back({.name = "histogram", .merge = {MergeKind::add}, .scope = RoundScope::vector});
  rounds.push_back({.name = "payload",
                    .merge = {MergeKind::add_packed},
                    .varies = true,
                    .finishes = options.down_shift != 0});
  rounds.push_back(EscapeRound::info(escapes_in(options, type)));
  rounds.back().after_payload = true;
  return rounds;
}

/// An error bound in steps of all ranks, a little below so that no rounding of arithmetic breaks it.
double step_for_bound(double error, int ranks) { return 2 * error / ranks * (1 - 0x1p-20); }

/// Bits a value, all in, of words that every rank sends log2(ranks) times (recursive doubling).
double agreement_bits(std::size_t words, std::uint32_t ranks, std::size_t elements) {
  const auto hops = static_cast<double>(std::bit_width(ranks - 1));
  const double share = 2 * (1 - 1.0 / ranks);  // of the vector, that allreduce moves at least
  return 64 * static_cast<double>(words) * hops / (share * static_cast<double>(elements));
}

class PackedCodec final : public Codec {
 public:
  PackedCodec(const CodecContext& context, const PackedOptions& options)
      : type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        ranks_(context.ranks),
        divisor_(context.divisor),
        kernels_(context.kernels),
        options_(options),
        rounds_(make_rounds(options, type_)),
        payload_(static_cast<int>(rounds_.size()) - 2),
        escape_(context, escapes_in(options, type_)),
        offsets_(correlated_offsets(rank_, static_cast<std::uint32_t>(context.ranks))) {
    if (options.target == PackedTarget::mean_bits || options.target == PackedTarget::max_bits)
      bins_.resize(packed_bins(type_));
  }

  [[nodiscard]] std::size_t block() const override { return kernels::packed_group; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return payload_; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override;
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return options_.error_feedback ? elements * feedback_size(type_) : 0;
  }

  void reserve(std::size_t elements, std::size_t longest_piece) override;
  void begin(const CallBuffers& call) override;
  std::size_t late_elements(int round, const Agreed& agreed) override;
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t finish(int round, const Piece& piece, Words sum, std::size_t words) override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::PackedRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  /// No integer of a rank may exceed this, so that sums stay in range; a power of two.
  [[nodiscard]] std::uint32_t limit() const {
    const std::uint32_t range = kernels::packed_range >> (options_.differences ? 1 : 0);
    return std::bit_floor(range / static_cast<std::uint32_t>(ranks_));
  }
  std::size_t agree(int round, const Piece& piece, const Agreed& agreed, Words out);
  void measure(const Piece& piece);
  [[nodiscard]] std::uint32_t own_maximum() const;
  void look(std::size_t top, std::size_t elements, Words out) const;
  [[nodiscard]] PackedSample sample(std::size_t elements) const;
  [[nodiscard]] PackedStep step_for_mean(std::size_t top, std::size_t elements,
                                         ConstWords words) const;
  void find_step(const Piece& piece, const Agreed& agreed);
  [[nodiscard]] double agreed_step(const Piece& piece, const Agreed& agreed) const;

  ElementType type_;
  std::uint32_t rank_;
  int ranks_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  PackedOptions options_;
  std::vector<RoundInfo> rounds_;
  int payload_;
  EscapeRound escape_;
  std::vector<std::uint8_t> offsets_;
  std::vector<std::uint32_t> escaped_;  ///< of one piece, by group

  // Of the call in flight.
  CallBuffers call_;
  kernels::PackedQuantizer quantizer_;
  bool step_known_ = false;
  std::vector<std::uint32_t> bins_;
  double largest_ = 0;  ///< rel_error: magnitude
};

std::size_t PackedCodec::capacity(int round, Form, std::size_t elements) const {
  if (round == payload_) return kernels::packed_capacity(elements, options_.differences);
  if (round > payload_) return escape_.capacity(elements);
  if (elements == 0) return 0;
  return round == histogram_round ? histogram_words + sample(elements).words() : 1;
}

void PackedCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  const std::size_t minis = elements / packed_mini + 1;
  if (minis > std::numeric_limits<std::uint32_t>::max() / static_cast<std::size_t>(ranks_))
    throw Error(ErrorKind::unsupported, "packed: the histogram of " + std::to_string(elements) +
                                            " elements on " + std::to_string(ranks_) +
                                            " ranks overflows; reduce the vector in parts");
  escaped_.resize(kernels::packed_groups(longest_piece));
}

void PackedCodec::begin(const CallBuffers& call) {
  using kernels::body::key;
  using kernels::body::Stream;
  call_ = call;
  const std::uint32_t dither_rank = options_.dither == Dither::independent ? rank_ : 0;
  quantizer_ = {.in_f64 = options_.bounded(),
                .drops_small = !options_.bounded(),
                .differences = options_.differences,
                .limit = static_cast<double>(limit() - 1),
                .dither = options_.dither,
                .dither_key = key(options_.seed, call.step, Stream::dither, dither_rank),
                .permutation_key = key(options_.seed, call.step, Stream::permutation, 0),
                .dither_offsets = offsets_};
  step_known_ = false;
  std::ranges::fill(bins_, 0u);
  largest_ = 0;
  escape_.blocks().clear();
}

/// For every piece in order; the last call writes the round's words.
std::size_t PackedCodec::agree(int round, const Piece& piece, const Agreed& agreed, Words out) {
  if (round == maximum_round) measure(piece);
  if (piece.index + 1 != agreed.pieces().size()) return out.size();
  if (round == maximum_round) {
    out[0] = own_maximum();
    return 1;
  }
  const std::size_t top = agreed.words(maximum_round, piece)[0];
  const auto histogram = PackedHistogram::of(bins_, top);
  for (std::size_t i = 0; i < histogram_words; ++i)
    out[i] = histogram.counts[2 * i] | std::uint64_t{histogram.counts[2 * i + 1]} << 32;
  look(top, piece.first + piece.count, out.subspan(histogram_words));
  return out.size();
}

/// Samples the vector, with the step in mind that its own histogram gives.
void PackedCodec::look(std::size_t top, std::size_t elements, Words out) const {
  std::ranges::fill(out, 0u);
  if (top == 0 || out.empty()) return;
  PackedForecast own(type_, PackedHistogram::of(bins_, top_bin(bins_)));
  own.assume_uncorrelated(static_cast<std::uint32_t>(ranks_), options_.down_shift);
  const PackedStep step = own.step_for(options_.bits, limit());
  sample(elements).look({type_, call_.input, call_.feedback_at(0)}, octave_code(type_, top), step,
                        options_.dither == Dither::nearest, out);
}

PackedSample PackedCodec::sample(std::size_t elements) const {
  using kernels::body::Stream;
  return {static_cast<std::uint32_t>(ranks_), elements,
          kernels::body::key(options_.seed, call_.step, Stream::sample, 0)};
}

void PackedCodec::measure(const Piece& piece) {
  if (options_.target != PackedTarget::relative_error) {
    kernels_.packed.measure(run_of(piece), call_.input_at(piece.first),
                            call_.feedback_at(piece.first), bins_.data());
    return;
  }
  using namespace kernels::body;
  with_element_type(type_, [&]<class T>(T) {
    for (std::size_t i = 0; i < piece.count; ++i) {
      const double value =
          std::abs(static_cast<double>(load_element<T>(call_.input, piece.first + i)));
      if (value <= std::numeric_limits<double>::max()) largest_ = std::max(largest_, value);
    }
  });
}

/// What the ranks take the maximum of: a bin, a step or a magnitude, as a number that orders like it; 0
/// on a rank of zeros, which must not decide.
std::uint32_t PackedCodec::own_maximum() const {
  if (options_.target == PackedTarget::relative_error)
    return largest_ == 0 ? 0  // rounded down, but no zero
                         : static_cast<std::uint32_t>(
                               std::max<std::uint64_t>(kernels::body::bits_of(largest_) >> 32, 1));
  const std::size_t top = top_bin(bins_);
  if (options_.target == PackedTarget::mean_bits || top == 0)
    return static_cast<std::uint32_t>(top);
  const PackedForecast forecast(type_, PackedHistogram::of(bins_, top));
  const PackedStep step = forecast.step_for(options_.bits, limit());
  return static_cast<std::uint32_t>(step.code + step_offset);
}

double PackedCodec::agreed_step(const Piece& piece, const Agreed& agreed) const {
  if (options_.target == PackedTarget::absolute_error)
    return step_for_bound(options_.error, ranks_);
  const std::uint64_t maximum = agreed.words(maximum_round, piece)[0];
  if (maximum == 0) return 1;
  if (options_.target == PackedTarget::relative_error) {
    // Of less than 2^-1041 only that is known: no step is small enough, and everything escapes.
    if (maximum == 1) return kernels::body::from_bits<double>(1);
    return step_for_bound(options_.error * kernels::body::from_bits<double>(maximum << 32), ranks_);
  }
  if (options_.target == PackedTarget::max_bits)
    return PackedStep{static_cast<std::int32_t>(maximum) - step_offset}.value();
  const Piece& last = agreed.pieces().back();
  return step_for_mean(maximum, last.first + last.count, agreed.words(histogram_round, piece))
      .value();
}

/// So that contributions and sums together, and what was agreed on before them, meet the budget.
PackedStep PackedCodec::step_for_mean(std::size_t top, std::size_t elements,
                                      ConstWords words) const {
  PackedHistogram histogram{.top = top};
  std::memcpy(histogram.counts.data(), words.data(), sizeof histogram.counts);
  PackedForecast forecast(type_, histogram);
  double bits = options_.bits;
  if (const auto ranks = static_cast<std::uint32_t>(ranks_); ranks > 1) {
    const PackedSample sampled = sample(elements);
    if (sampled.words() == 0)
      forecast.assume_uncorrelated(ranks, options_.down_shift);
    else
      forecast.trust(sampled.findings(words.subspan(histogram_words), octave_code(type_, top),
                                      options_.down_shift));
    bits -= std::min(agreement_bits(call_words + 1 + words.size(), ranks, elements),
                     largest_agreement * bits);
  }
  return forecast.step_for(bits, limit());
}

void PackedCodec::find_step(const Piece& piece, const Agreed& agreed) {
  if (std::exchange(step_known_, true)) return;
  // So that the largest numbers do not become infinite when they are rounded, and by shifted steps.
  const int most = (type_ == ElementType::f64 ? 1014 : 118) - static_cast<int>(options_.down_shift);
  quantizer_.step = std::min(agreed_step(piece, agreed), std::ldexp(1.0, most));
  if (type_ == ElementType::f64 || quantizer_.step < least_f32_step) quantizer_.in_f64 = true;
}

std::size_t PackedCodec::encode(int round, Form, const Piece& piece, const Agreed& agreed,
                                Words out) {
  if (round < payload_) return agree(round, piece, agreed, out);
  if (round > payload_) return escape_.encode_input(piece, call_.input, call_.feedback_at(0), out);
  find_step(piece, agreed);
  return kernels_.packed.encode(quantizer_, run_of(piece), call_.input_at(piece.first),
                                call_.feedback_at(piece.first), out.data());
}

std::size_t PackedCodec::finish(int, const Piece& piece, Words sum, std::size_t words) {
  const std::size_t left = kernels_.packed.shift(kernels::packed_groups(piece.count),
                                                 sum.first(words), options_.down_shift, sum.data());
  if (left == 0) throw Error(ErrorKind::transport, "packed: a sum does not fit its headers");
  return left;
}

void PackedCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                         std::size_t) {
  if (round > payload_) return escape_.decode(piece, sum, call_.output);
  find_step(piece, agreed);
  const double step = ranks_ == 1
                          ? quantizer_.step
                          : quantizer_.step * static_cast<double>(1u << options_.down_shift);
  if (!kernels_.packed.decode(run_of(piece), sum, step, quantizer_.in_f64, divisor_,
                              escaped_.data(),
                              static_cast<std::byte*>(call_.output) + piece.first * size_of(type_)))
    throw Error(ErrorKind::transport, "packed: a sum arrived that does not fit its headers");
  for (std::size_t g = 0; g < kernels::packed_groups(piece.count); ++g)
    for (std::uint32_t left = escaped_[g]; left != 0; left &= left - 1) {
      const std::size_t first =
          g * kernels::packed_group + std::size_t(std::countr_zero(left)) * packed_mini;
      if (first >= piece.count) break;  // predict=delta: groups escape whole
      escape_.blocks().add(piece.first + first, std::min(packed_mini, piece.count - first));
    }
}

std::size_t PackedCodec::late_elements(int, const Agreed&) { return escape_.blocks().finish(); }

}  // namespace

std::unique_ptr<Codec> make_packed(const CodecContext& context) {
  const auto options =
      parse_packed_options(context.parameters, static_cast<std::uint32_t>(context.ranks));
  return std::make_unique<PackedCodec>(context, options);
}

}  // namespace cohom
