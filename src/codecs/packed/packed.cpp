#include "codecs/packed/packed.hpp"

#include "codecs/common/dither.hpp"
#include "codecs/common/outlier_round.hpp"
#include "codecs/packed/packed_agreement.hpp"
#include "codecs/packed/packed_errors.hpp"
#include "codecs/packed/packed_options.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/packed.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohom {
namespace {

using kernels::Dither;
using kernels::packed_mini;

/// Steps below this are no normal numbers of f32 arithmetic, or their inverses are none.
constexpr double min_f32_step = 0x1p-100;

/// No integer of a rank may exceed this, so that sums stay in range; a power of two.
std::uint32_t limit_of(const PackedOptions& options, std::uint32_t ranks) {
  const std::uint32_t range = kernels::packed_range >> (options.differences ? 1 : 0);
  return std::bit_floor(range / ranks);
}

class PackedPayload final : public Round {
 public:
  /// `agreement`, `outlier_round` and `call` outlive it.
  PackedPayload(const CodecContext& context, const PackedOptions& options, std::uint32_t limit,
                const PackedAgreement& agreement, OutlierRound& outlier_round,
                const CallBuffers& call)
      : Round({.name = "payload",
               .merge = {MergeKind::add_packed},
               .time = RoundTime::payload,
               .length = PayloadLength::varying,
               .sums = options.down_shift != 0 ? CompleteSums::finished : CompleteSums::as_merged}),
        type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        ranks_(context.ranks),
        divisor_(context.divisor),
        kernels_(context.kernels.packed),
        options_(options),
        limit_(limit),
        agreement_(agreement),
        outlier_round_(outlier_round),
        call_(call),
        offsets_(correlated_offsets(rank_, static_cast<std::uint32_t>(context.ranks))),
        outliers_(context.workers) {}

  void reserve(std::size_t longest_piece) {
    outliers_.for_each(
        [&](auto& outliers) { outliers.resize(kernels::packed_groups(longest_piece)); });
  }
  void start();
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return kernels::packed_capacity(elements, options_.differences);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t merge(const Piece& piece, std::span<const ConstPayload> sources,
                    Payload sum) override;
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::PackedRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  void find_step(const Piece& piece);

  ElementType type_;
  std::uint32_t rank_;
  int ranks_;
  std::uint64_t divisor_;
  const kernels::PackedKernels& kernels_;
  PackedOptions options_;
  std::uint32_t limit_;
  const PackedAgreement& agreement_;
  OutlierRound& outlier_round_;
  const CallBuffers& call_;
  std::vector<std::uint8_t> offsets_;
  PerWorker<std::vector<std::uint32_t>> outliers_;  ///< of one piece, by group

  // Of the call in flight.
  kernels::PackedQuantizer quantizer_;
  std::mutex finding_step_;
  std::atomic<bool> step_known_ = false;
};

void PackedPayload::start() {
  using kernels::body::key;
  using kernels::body::Stream;
  const std::uint32_t dither_rank = options_.dither == Dither::independent ? rank_ : 0;
  quantizer_ = {.in_f64 = options_.bounded(),
                .drops_small = options_.drops_small(),
                .differences = options_.differences,
                .limit = static_cast<double>(limit_ - 1),
                .dither = options_.dither,
                .dither_key = key(options_.seed, call_.step, Stream::dither, dither_rank),
                .permutation_key = key(options_.seed, call_.step, Stream::permutation, 0),
                .dither_offsets = offsets_};
  step_known_ = false;
}

/// The first piece's is that of all.
void PackedPayload::find_step(const Piece& piece) {
  if (step_known_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(finding_step_);
  if (step_known_.load(std::memory_order_relaxed)) return;
  // So that the largest numbers do not become infinite when they are rounded, and by shifted steps.
  const int most = (type_ == ElementType::f64 ? 1014 : 118) - static_cast<int>(options_.down_shift);
  quantizer_.step = std::min(agreement_.step(piece), std::ldexp(1.0, most));
  if (type_ == ElementType::f64 || quantizer_.step < min_f32_step ||
      agreement_.needs_f64(piece, quantizer_.step))
    quantizer_.in_f64 = true;
  step_known_.store(true, std::memory_order_release);
}

std::size_t PackedPayload::encode(std::size_t, const Piece& piece, Payload out) {
  find_step(piece);
  return kernels_.encode(quantizer_, run_of(piece), call_.input_at(piece.first),
                         call_.feedback_at(piece.first), out.data());
}

std::size_t PackedPayload::merge(const Piece& piece, std::span<const ConstPayload> sources,
                                 Payload sum) {
  const std::size_t words = kernels_.merge(kernels::packed_groups(piece.count), sources.data(),
                                           sources.size(), sum.data());
  if (words == 0)
    throw Error(ErrorKind::transport, "a packed payload arrived that does not fit its headers");
  return words;
}

std::size_t PackedPayload::finish(const Piece& piece, Payload sum, std::size_t words) {
  const std::size_t left = kernels_.shift(kernels::packed_groups(piece.count), sum.first(words),
                                          options_.down_shift, sum.data());
  if (left == 0) throw Error(ErrorKind::transport, "packed: a sum does not fit its headers");
  return left;
}

void PackedPayload::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  find_step(piece);
  auto& outliers = outliers_.mine();
  const double step = ranks_ == 1
                          ? quantizer_.step
                          : quantizer_.step * static_cast<double>(1u << options_.down_shift);
  if (!kernels_.decode(run_of(piece), sum, step, quantizer_.in_f64, divisor_, outliers.data(),
                       call_.output_at(piece.first)))
    throw Error(ErrorKind::transport, "packed: a sum arrived that does not fit its headers");
  for (std::size_t g = 0; g < kernels::packed_groups(piece.count); ++g)
    for (std::uint32_t left = outliers[g]; left != 0; left &= left - 1) {
      const std::size_t first =
          g * kernels::packed_group + std::size_t(std::countr_zero(left)) * packed_mini;
      if (first >= piece.count) break;  // predict=delta: whole groups are outliers
      outlier_round_.blocks().add(piece.first + first, std::min(packed_mini, piece.count - first));
    }
}

class PackedCodec final : public Codec {
 public:
  PackedCodec(const CodecContext& context, const PackedOptions& options)
      : type_(context.type),
        ranks_(context.ranks),
        options_(options),
        agreement_(context, options, limit(), call_),
        outlier_round_(context, call_, OutlierRound::Travels::input),
        payload_(context, options, limit(), agreement_, outlier_round_, call_) {
    for (Round* const round : agreement_.rounds()) add(*round);
    add(payload_);
    add(outlier_round_);
  }

  [[nodiscard]] std::size_t block() const override { return kernels::packed_group; }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return options_.error_feedback ? elements * feedback_size(type_) : 0;
  }
  void reserve(std::size_t elements, std::size_t longest_piece) override;
  [[nodiscard]] std::size_t device_scratch(std::size_t elements,
                                           std::size_t longest_piece) const override;

 private:
  void start() override {
    agreement_.start();
    outlier_round_.start();
    payload_.start();
  }
  [[nodiscard]] std::uint32_t limit() const {
    return limit_of(options_, static_cast<std::uint32_t>(ranks_));
  }

  ElementType type_;
  int ranks_;
  PackedOptions options_;
  PackedAgreement agreement_;
  OutlierRound outlier_round_;
  PackedPayload payload_;
};

void PackedCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  // A payload counts its u32 in 32 bits.
  constexpr std::size_t max_words = std::numeric_limits<std::uint32_t>::max() / 2;
  if (const std::size_t words = payload_.capacity(alone, longest_piece); words > max_words)
    throw Error(ErrorKind::unsupported, "packed: a payload of " + std::to_string(longest_piece) +
                                            " elements may have " + std::to_string(words) +
                                            " words, of " + std::to_string(max_words) +
                                            "; take a smaller segment");
  payload_.reserve(longest_piece);
  agreement_.reserve(elements);
}

/// The sample's mini-blocks, or the offsets of all payloads that are merged with a sum's, and what
/// owners round off in place.
std::size_t PackedCodec::device_scratch(std::size_t elements, std::size_t longest_piece) const {
  const std::size_t groups = kernels::packed_groups(longest_piece) + 2;
  const std::size_t offsets = (static_cast<std::size_t>(ranks_) + 1) * groups * 8;
  const std::size_t shifted =
      options_.down_shift == 0 ? 0 : 8 * payload_.capacity(std::size_t(ranks_), longest_piece);
  return std::max(agreement_.device_scratch(elements), offsets + shifted);
}

/// What it may send with a budget, for contributions and sums together, agreement included. How it
/// splits them depends on the vectors, so there is a formula only where a rank sends as many
/// contributions as sums.
std::optional<CodecBytes> packed_bytes(const BytesQuery& query) {
  const Parameters& given = query.parameters;
  if (!query.at_once || text_of(given, "budget", "mean") != "mean" || given.contains("abs_error") ||
      given.contains("rel_error") || given.contains("nmse"))
    return std::nullopt;
  return CodecBytes{.block = kernels::packed_group,
                    .contribution = evenly(std::stod(text_of(given, "bits", "5")) / 8),
                    .sum = evenly(std::stod(text_of(given, "bits", "5")) / 8)};
}

/// Of nmse the bits follow from the vectors. Those of normal ones are nearly the most there are.
std::optional<KeepingNmse> packed_keeping_nmse(double /*nmse*/, const BytesQuery& query) {
  const auto ranks = static_cast<std::uint32_t>(query.ranks);
  PackedOptions options;
  try {
    options = parse_packed_options(query.parameters, ranks, query.type);
  } catch (const Error&) {
    return std::nullopt;
  }
  const PackedNormalBits bits(options, query.type, query.elements, ranks, limit_of(options, ranks));
  return KeepingNmse{
      .parameters = query.parameters,
      .bytes = {.block = kernels::packed_group,
                .contribution = evenly(bits.sum(1) / 8),
                .sum = evenly(bits.sum(ranks) / 8),
                .growing =
                    [bits](std::size_t room, std::size_t elements) {
                      return evenly(bits.sum(static_cast<std::uint32_t>(room)) / 8)(elements);
                    },
                .agreement = 8 * (1 + PackedEnergyRound::words(query.elements)),
                .finished = evenly(bits.result() / 8)}};
}

// Of a budget, a tenth goes to the agreement of vectors as short as the tests'.
constexpr CodecSample samples[] = {
    {.spec = "packed",
     .clamped = 0.05,
     .block_scale = false,
     .outlier_elements = 32,
     .shares_step = true},
    {.spec = "packed:bits=8,budget=max,dither=nearest",
     .clamped = 0.0005,
     .block_scale = false,
     .outlier_elements = 32,
     .shares_step = true},
    {.spec = "packed:bits=3.5,dither=independent,seed=3",
     .clamped = 0.7,
     .block_scale = false,
     .outlier_elements = 32,
     .shares_step = true},
    {.spec = "packed:error_feedback=on,down_shift=0",
     .clamped = 0.06,
     .block_scale = false,
     .outlier_elements = 32,
     .shares_step = true},
    {.spec = "packed:nmse=0.001",
     .clamped = 0.001,
     .block_scale = false,
     .outlier_elements = 32,
     .shares_step = true},
    {.spec = "packed:abs_error=0.001", .clamped = 1e-5, .outlier_elements = 32, .absolute = true},
    {.spec = "packed:rel_error=0.0001,predict=delta",
     .clamped = 1e-6,
     .block_scale = false,
     .outlier_elements = 1024,
     .shares_step = true}};

}  // namespace

std::unique_ptr<Codec> make_packed(const CodecContext& context) {
  const auto options = parse_packed_options(
      context.parameters, static_cast<std::uint32_t>(context.ranks), context.type);
  return std::make_unique<PackedCodec>(context, options);
}

const CodecRow& packed_codec() {
  static const CodecRow row{
      .info = {"packed",
               "integers of one step in mini-blocks of their own width: least error a byte",
               packed_parameters()},
      .make = make_packed,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) { return complete(device.packed); }},
      .samples = samples,
      .in_workers = true,
      .bounds_errors = packed_bounds_errors,
      .bytes = packed_bytes,
      .keeping_nmse = packed_keeping_nmse,
  };
  return row;
}

}  // namespace cohom
