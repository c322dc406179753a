#include "codecs/signcount/signcount.hpp"

#include "codecs/common/lane_layout.hpp"
#include "codecs/common/lane_sums.hpp"
#include "codecs/common/outlier_round.hpp"
#include "codecs/signcount/signcount_options.hpp"
#include "kernels/sign/sign.hpp"

#include <optional>
#include <vector>

namespace cohom {
namespace {

using kernels::sign_block;
using kernels::SignCounts;
using kernels::SignRun;

SignCounts counts_of(int ranks) {
  return {static_cast<std::uint32_t>(ranks),
          smallest_lane_width(static_cast<std::uint64_t>(ranks))};
}

/// Bits up; down, counts of plus signs or the sign of most ranks.
class SigncountPayload final : public Round {
 public:
  /// `scale` and `call` outlive it.
  SigncountPayload(const CodecContext& context, bool majority, SignScale& scale,
                   const CallBuffers& call)
      : Round({.name = "payload",
               .merge = {MergeKind::add},
               .time = RoundTime::payload,
               .contributions = counts_of(context.ranks).width > 1 ? Contributions::narrow
                                                                   : Contributions::like_sums,
               .sums = majority ? CompleteSums::finished : CompleteSums::as_merged,
               .grows = counts_of(context.ranks).width > 1}),
        type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        divisor_(context.divisor),
        kernels_(context.kernels.sign),
        memory_(context.memory),
        counts_(counts_of(context.ranks)),
        majority_(majority),
        scale_(scale),
        call_(call),
        signs_(context.workers),
        contribution_words_(context.workers),
        partial_sums_(context.kernels, sign_block, counts_.ranks, context.workers) {
    contribution_words_.for_each([&](auto& words) { words.reserve(counts_.ranks); });
  }

  void reserve(std::size_t longest_piece) {
    signs_.for_each([&](auto& signs) { signs = {memory_, words_of(longest_piece, 1)}; });
  }
  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return words_of(elements, contributions == alone ? 1 : width_of(contributions));
  }
  [[nodiscard]] std::size_t finished_capacity(std::size_t, std::size_t elements) const override {
    return words_of(elements, majority_ ? 1 : counts_.width);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      std::size_t room, Payload sum) override;
  [[nodiscard]] std::optional<Promotion> promotion() const override {
    if (counts_.width == 1) return std::nullopt;
    return Promotion{.narrow_width = 1,
                     .wide_width = static_cast<std::uint8_t>(counts_.width),
                     .block = sign_block};
  }
  std::size_t widen(const Piece& piece, std::span<const PartialSum> sources, std::size_t room,
                    Payload sum) override;
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  /// Lane bits of a sum with room for so many contributions.
  [[nodiscard]] unsigned width_of(std::size_t room) const {
    return traits().grows ? smallest_lane_width(room) : counts_.width;
  }
  static std::size_t words_of(std::size_t elements, unsigned width) {
    return words_of_run(elements, sign_block, width);
  }
  [[nodiscard]] SignRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  void pack(const Piece& piece, std::uint64_t* signs);

  ElementType type_;
  std::uint32_t rank_;
  std::uint64_t divisor_;
  const kernels::SignKernels& kernels_;
  Memory& memory_;
  SignCounts counts_;
  bool majority_;
  SignScale& scale_;
  const CallBuffers& call_;
  PerWorker<MemoryArray<std::uint64_t>> signs_;                      ///< of one piece
  PerWorker<std::vector<const std::uint64_t*>> contribution_words_;  ///< of one call of promote()
  LaneSums partial_sums_;
};

void SigncountPayload::pack(const Piece& piece, std::uint64_t* signs) {
  const double* scales = scale_.scales(piece).data();
  const bool zeros_are_plus = (rank_ + call_.step) % 2 == 0;
  if (std::byte* feedback = call_.feedback_at(piece.first))
    kernels_.pack_feedback(run_of(piece), feedback, scales, zeros_are_plus, signs);
  else
    kernels_.pack(run_of(piece), call_.input_at(piece.first), nullptr, scales, zeros_are_plus,
                  signs);
}

std::size_t SigncountPayload::encode(std::size_t contributions, const Piece& piece, Payload out) {
  if (contributions == alone || counts_.width == 1) {
    pack(piece, out.data());
  } else {
    std::uint64_t* const signs = signs_.mine().data();
    pack(piece, signs);
    const std::uint64_t* const own = signs;
    kernels_.count(counts_, run_of(piece), &own, 1, out.data());
  }
  return capacity(contributions, piece.count);
}

std::size_t SigncountPayload::promote(const Piece& piece,
                                      std::span<const ConstPayload> contributions, std::size_t room,
                                      Payload sum) {
  auto& contribution_words = contribution_words_.mine();
  contribution_words.clear();
  for (ConstPayload words : contributions) contribution_words.push_back(words.data());
  kernels_.count({counts_.ranks, width_of(room)}, run_of(piece), contribution_words.data(),
                 contributions.size(), sum.data());
  return capacity(room, piece.count);
}

std::size_t SigncountPayload::widen(const Piece& piece, std::span<const PartialSum> sources,
                                    std::size_t room, Payload sum) {
  for (const PartialSum& source : sources) partial_sums_.add(source.words, width_of(source.room));
  partial_sums_.write(piece.count, width_of(room), sum);
  return capacity(room, piece.count);
}

/// A tie goes to plus in half of the positions, and to minus there in the next call.
std::size_t SigncountPayload::finish(const Piece& piece, Payload sum, std::size_t) {
  kernels_.majority(counts_, run_of(piece), sum.data(), call_.step % 2 != 0, sum.data());
  return finished_capacity(counts_.ranks, piece.count);
}

void SigncountPayload::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  const double* scales = scale_.scales(piece).data();
  std::byte* const output = call_.output_at(piece.first);
  if (majority_)
    kernels_.expand(run_of(piece), sum.data(), scales, counts_.ranks, divisor_, nullptr, output);
  else
    kernels_.expand_counts(counts_, run_of(piece), sum.data(), scales, divisor_, output);
}

class SigncountCodec final : public Codec {
 public:
  SigncountCodec(const CodecContext& context, const SigncountOptions& options)
      : type_(context.type),
        error_feedback_(options.error_feedback),
        scale_(make_sign_scale({context, options.scale, "signcount", call_,
                                [this](const Piece& piece) { measure(piece); }})),
        payload_(context, options.majority, *scale_, call_),
        outlier_round_(context, call_, [this](OutlierBlocks& blocks) {
          scale_->find_outliers(call_.pieces, blocks);
        }) {
    for (Round* const round : scale_->rounds()) add(*round);
    add(payload_);
    add(outlier_round_);
  }

  [[nodiscard]] std::size_t block() const override { return sign_block; }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return error_feedback_ ? elements * feedback_size(type_) : 0;
  }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    scale_->reserve(elements, longest_piece);
    payload_.reserve(longest_piece);
  }

 private:
  void measure(const Piece& piece) { scale_->blocks().measure({type_, piece.first, piece.count}); }

  ElementType type_;
  bool error_feedback_;
  std::unique_ptr<SignScale> scale_;
  SigncountPayload payload_;
  OutlierRound outlier_round_;
};

// A sign with the mean magnitude leaves 1 - 2/pi of a normal vector's energy; a vote for all
// ranks is wrong by as much as their sum is large.
constexpr CodecSample samples[] = {
    {.spec = "signcount", .clamped = 0.5, .signs = true},
    {.spec = "signcount:error_feedback=on", .clamped = 0.5, .signs = true},
    {.spec = "signcount:scale=global",
     .clamped = 1.5,
     .block_scale = false,
     .outlier_elements = 1024,
     .shares_step = true,
     .signs = true},
    {.spec = "signcount:scale=0.8",
     .clamped = 40,
     .block_scale = false,
     .outlier_elements = 1024,
     .absolute = true,
     .signs = true},
    {.spec = "signcount:vote=majority",
     .clamped = 1,
     .rounded = 1,
     .full_levels = true,
     .signs = true},
    {.spec = "signcount:vote=majority,scale=global,error_feedback=on",
     .clamped = 1.5,
     .rounded = 1,
     .full_levels = true,
     .block_scale = false,
     .outlier_elements = 1024,
     .shares_step = true,
     .signs = true}};

}  // namespace

std::unique_ptr<Codec> make_signcount(const CodecContext& context) {
  return std::make_unique<SigncountCodec>(context, parse_signcount_options(context.parameters));
}

const CodecRow& signcount_codec() {
  static const CodecRow row{
      .info = {"signcount", "one bit a value up, exact counts of signs or a majority vote down",
               signcount_parameters()},
      .make = make_signcount,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) { return complete(device.sign); }},
      .samples = samples,
      .in_workers = true,
      .decodes_parts = true,
  };
  return row;
}

}  // namespace cohom
