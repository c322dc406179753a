#include "codecs/thc/thc.hpp"

#include "codecs/common/lane_layout.hpp"
#include "codecs/common/lane_sums.hpp"
#include "codecs/common/outlier_round.hpp"
#include "codecs/thc/thc_norms.hpp"
#include "codecs/thc/thc_options.hpp"
#include "kernels/core/body/random.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace cohom {
namespace {

using kernels::Dither;
using kernels::ThcFormat;
using kernels::ThcRun;

class ThcPayload final : public Round {
 public:
  /// The references outlive it.
  ThcPayload(const CodecContext& context, const ThcFormat& format, std::uint64_t seed,
             BlockScale& norms, const CallBuffers& call)
      : Round({.name = "payload",
               .merge = {MergeKind::add},
               .time = RoundTime::payload,
               .contributions = format.narrow_width < format.wide_width ? Contributions::narrow
                                                                        : Contributions::like_sums,
               .grows = format.narrow_width < format.wide_width}),
        type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        divisor_(context.divisor),
        kernels_(context.kernels.thc),
        format_(format),
        seed_(seed),
        norms_(norms),
        call_(call),
        contribution_words_(context.workers),
        partial_sums_(context.kernels, format.rotation, format.ranks, context.workers) {
    contribution_words_.for_each([&](auto& words) { words.reserve(format_.ranks); });
    if (!traits().grows) return;
    for (const unsigned width : lane_widths()) {
      if (width < sum_width(1) || width >= format.wide_width) continue;
      partial_formats_.push_back(format);
      partial_formats_.back().wide_width = width;
    }
  }

  void start();
  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return words_of_run(elements, format_.rotation,
                        contributions == alone ? format_.narrow_width : sum_width(contributions));
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      std::size_t room, Payload sum) override;
  [[nodiscard]] std::optional<Promotion> promotion() const override;
  std::size_t widen(const Piece& piece, std::span<const PartialSum> sources, std::size_t room,
                    Payload sum) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] ThcRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }

  /// Lane bits of a sum with room for so many contributions.
  [[nodiscard]] unsigned sum_width(std::size_t room) const {
    if (!traits().grows || room >= format_.ranks) return format_.wide_width;
    return std::min(smallest_lane_width(format_.intervals * room), format_.wide_width);
  }
  [[nodiscard]] const ThcFormat& format_of_sum(std::size_t room) const;

  ElementType type_;
  std::uint32_t rank_;
  std::uint64_t divisor_;
  const kernels::ThcKernels& kernels_;
  const ThcFormat& format_;
  std::vector<ThcFormat> partial_formats_;  ///< with narrower lanes for sums of fewer ranks
  std::uint64_t seed_;
  BlockScale& norms_;
  const CallBuffers& call_;
  kernels::ThcDraws draws_;                                          ///< of the call in flight
  PerWorker<std::vector<const std::uint64_t*>> contribution_words_;  ///< of one call of promote()
  LaneSums partial_sums_;
};

void ThcPayload::start() {
  using kernels::body::key;
  using kernels::body::Stream;
  const std::uint32_t dither_rank = format_.dither == Dither::correlated ? 0 : rank_;
  draws_ = {key(seed_, call_.step, Stream::signs, 0),
            key(seed_, call_.step, Stream::dither, dither_rank),
            key(seed_, call_.step, Stream::permutation, 0)};
}

std::size_t ThcPayload::encode(std::size_t contributions, const Piece& piece, Payload out) {
  kernels_.encode(format_, draws_, run_of(piece), call_.input_at(piece.first),
                  call_.feedback_at(piece.first), norms_.codes(piece).data(),
                  contributions == alone ? Form::narrow : Form::wide, out.data());
  return capacity(contributions, piece.count);
}

std::size_t ThcPayload::promote(const Piece& piece, std::span<const ConstPayload> contributions,
                                std::size_t room, Payload sum) {
  auto& contribution_words = contribution_words_.mine();
  contribution_words.clear();
  for (ConstPayload words : contributions) contribution_words.push_back(words.data());
  kernels_.promote(format_of_sum(room), run_of(piece), contribution_words.data(),
                   contributions.size(), sum.data());
  return capacity(room, piece.count);
}

const ThcFormat& ThcPayload::format_of_sum(std::size_t room) const {
  const auto found = std::ranges::find(partial_formats_, sum_width(room), &ThcFormat::wide_width);
  return found == partial_formats_.end() ? format_ : *found;
}

std::size_t ThcPayload::widen(const Piece& piece, std::span<const PartialSum> sources,
                              std::size_t room, Payload sum) {
  for (const PartialSum& source : sources) partial_sums_.add(source.words, sum_width(source.room));
  partial_sums_.write(piece.count, sum_width(room), sum);
  return capacity(room, piece.count);
}

std::optional<Promotion> ThcPayload::promotion() const {
  Promotion promotion{.narrow_width = static_cast<std::uint8_t>(format_.narrow_width),
                      .wide_width = static_cast<std::uint8_t>(format_.wide_width),
                      .has_levels = format_.table,
                      .block = format_.rotation};
  if (!traits().narrow()) return std::nullopt;
  if (!format_.table) return promotion;
  // Larger tables have no place in a message's header.
  if (format_.levels.size() > promotion.levels.size() || format_.levels.back() > 255)
    return std::nullopt;
  std::ranges::copy(format_.levels, promotion.levels.begin());
  return promotion;
}

void ThcPayload::decode(const Piece& piece, ConstPayload sum, std::size_t contributions) {
  kernels_.decode(format_, draws_, run_of(piece), sum.data(), contributions,
                  norms_.codes(piece).data(), divisor_, call_.output_at(piece.first));
}

class ThcCodec final : public Codec {
 public:
  ThcCodec(const CodecContext& context, const ThcOptions& options)
      : type_(context.type),
        error_feedback_(options.error_feedback),
        format_(make_thc_format(options, static_cast<std::uint32_t>(context.rank),
                                static_cast<std::uint32_t>(context.ranks))),
        norms_(make_thc_norms(context, options, format_, call_)),
        payload_(context, format_, options.seed, *norms_, call_),
        outlier_round_(context, call_,
                       [this](OutlierBlocks& outliers) { find_outliers(outliers); }) {
    add(*norms_);
    add(payload_);
    add(outlier_round_);
  }

  [[nodiscard]] std::size_t block() const override { return format_.rotation; }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return error_feedback_ ? elements * feedback_size(type_) : 0;
  }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    norms_->reserve(elements, longest_piece);
  }
  [[nodiscard]] std::size_t device_scratch(std::size_t elements,
                                           std::size_t longest_piece) const override;

 private:
  void start() override { payload_.start(); }
  void find_outliers(OutlierBlocks& outliers);

  ElementType type_;
  bool error_feedback_;
  ThcFormat format_;
  std::unique_ptr<BlockScale> norms_;
  ThcPayload payload_;
  OutlierRound outlier_round_;
};

/// Codes and scales of small blocks, and where blocks that have no room in shared memory turn:
/// those of the piece, as many as have room at a time, and what is ragged.
std::size_t ThcCodec::device_scratch(std::size_t, std::size_t longest_piece) const {
  const std::size_t blocks = (longest_piece + block() - 1) / block();
  const std::size_t codes = (blocks + 1) * (sizeof(std::uint32_t) + 16);
  if (block() <= kernels::thc_shared_span) return codes;
  constexpr std::size_t value = sizeof(double) + sizeof(std::uint16_t);
  const std::size_t turning = std::max(kernels::thc_max_scratch, block() * value);
  return codes + std::min(turning, (longest_piece + block()) * value) + block() * value;
}

void ThcCodec::find_outliers(OutlierBlocks& outliers) {
  for (const Piece& piece : call_.pieces) {
    const auto codes = norms_->codes(piece);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] != kernels::outlier_code) continue;
      const std::size_t offset = i * block();
      outliers.add(piece.first + offset, std::min(block(), piece.count - offset));
    }
  }
}

std::optional<KeepingNmse> thc_keeping_nmse(double /*nmse*/, const BytesQuery& query) {
  auto bytes = bytes_of_rounds(make_thc, query);
  if (!bytes) return std::nullopt;
  return KeepingNmse{.parameters = query.parameters, .bytes = std::move(*bytes)};
}

constexpr CodecSample samples[] = {
    {.spec = "thc", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:levels=full", .clamped = 0.0006, .rounded = 0.00017, .full_levels = true},
    {.spec = "thc:levels=full,lane=16", .clamped = 0.0005},
    {.spec = "thc:scale=global", .clamped = 0.009, .rounded = 0.017, .block_scale = false},
    {.spec = "thc:scale=global,rotation=16,levels=full,lane=21",
     .clamped = 0.0003,
     .block_scale = false},
    {.spec = "thc:rotation=16", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:rotation=1024", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:bits=1", .clamped = 0.009, .rounded = 4},
    {.spec = "thc:bits=2,granularity=9", .clamped = 0.009, .rounded = 0.42},
    {.spec = "thc:bits=6,granularity=100,tail=1/256", .clamped = 0.001, .rounded = 0.0016},
    {.spec = "thc:dither=independent", .clamped = 0.009, .rounded = 0.017, .correlated = false},
    {.spec = "thc:dither=nearest", .clamped = 0.009, .rounded = 0.009, .correlated = false},
    {.spec = "thc:error_feedback=on", .clamped = 0.009, .rounded = 0.009, .correlated = false},
    {.spec = "thc:lane=8", .clamped = 0.009, .rounded = 0.017, .max_ranks = 8},
    {.spec = "thc:lane=9", .clamped = 0.009, .rounded = 0.017},
    {.spec = "thc:lane=12,seed=7", .clamped = 0.009, .rounded = 0.019},
    {.spec = "thc:lane=16", .clamped = 0.009, .rounded = 0.017}};

}  // namespace

std::unique_ptr<Codec> make_thc(const CodecContext& context) {
  const auto options = parse_thc_options(context.parameters,
                                         static_cast<std::uint32_t>(context.ranks), context.type);
  return std::make_unique<ThcCodec>(context, options);
}

const CodecRow& thc_codec() {
  static const CodecRow row{
      .info = {"thc", "rotated, 4-bit quantised gradients whose lanes add in the network (NSDI'24)",
               thc_parameters()},
      .make = make_thc,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) { return complete(device.thc); }},
      .samples = samples,
      .in_workers = true,
      .decodes_parts = true,
      .keeping_nmse = thc_keeping_nmse,
  };
  return row;
}

}  // namespace cohom
