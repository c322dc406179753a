#include "codecs/marsit/marsit.hpp"

#include "codecs/common/lane_layout.hpp"
#include "codecs/common/outlier_round.hpp"
#include "codecs/marsit/marsit_exact.hpp"
#include "codecs/marsit/marsit_options.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/sample/sample.hpp"
#include "kernels/sign/sign.hpp"

#include <algorithm>
#include <vector>

namespace cohom {
namespace {

using kernels::sign_block;
using kernels::SignRun;

/// The signs of elements that this rank was drawn for; those of all ranks fill the vector.
class MarsitPayload final : public Round {
 public:
  /// `options`, `scale` and `call` outlive it.
  MarsitPayload(const CodecContext& context, const MarsitOptions& options, CommonSignScale& scale,
                const CallBuffers& call)
      : Round({.name = "payload",
               .merge = {MergeKind::bit_or},
               .time = RoundTime::payload,
               .contributions =
                   context.ranks > 1 ? Contributions::narrow_disjoint : Contributions::like_sums}),
        type_(context.type),
        ranks_(static_cast<std::uint32_t>(context.ranks)),
        divisor_(context.divisor),
        kernels_(context.kernels),
        memory_(context.memory),
        options_(options),
        sample_(kernels::make_sample_format(static_cast<std::uint32_t>(context.rank), ranks_)),
        scale_(scale),
        call_(call),
        contribution_words_(context.workers) {
    contribution_words_.for_each([&](auto& words) { words.reserve(ranks_); });
  }

  void reserve(std::size_t elements, std::size_t longest_piece);
  void start() {
    using kernels::body::Stream;
    key_ = kernels::body::key(options_.seed, call_.step, Stream::choice, 0);
  }
  /// Before the scale's first round.
  void measure_and_pack(const Piece& piece);

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return ranks_ > 1 && contributions == alone ? kernels::sampled_words(elements, ranks_)
                                                : words_of_run(elements, sign_block, 1);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      std::size_t room, Payload sum) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] SignRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  [[nodiscard]] std::uint64_t* signs_at(std::size_t element) {
    return signs_.data() + element / 64;
  }

  ElementType type_;
  std::uint32_t ranks_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  const MarsitOptions& options_;
  kernels::SampleFormat sample_;
  CommonSignScale& scale_;
  const CallBuffers& call_;
  std::uint64_t key_ = 0;  ///< of the call in flight
  /// Elements that stay in a core's cache between measuring and packing; a device wants long runs.
  std::size_t cached_run_ = 4 * sign_block;
  MemoryArray<std::uint64_t> signs_;  ///< of the vector
  std::vector<double> some_scale_;    ///< of a cached run: anything above 0
  PerWorker<std::vector<const std::uint64_t*>> contribution_words_;  ///< of one call of promote()
};

void MarsitPayload::reserve(std::size_t elements, std::size_t longest_piece) {
  signs_ = {memory_, words_of_run(elements, sign_block, 1)};
  if (!memory_.is_host()) cached_run_ = (longest_piece + sign_block - 1) / sign_block * sign_block;
  some_scale_.assign(cached_run_ / sign_block, 1.0);
}

/// Signs do not depend on what the ranks agree on, but for blocks that have none: so the vector is
/// read from memory once.
void MarsitPayload::measure_and_pack(const Piece& piece) {
  for (std::size_t done = 0; done < piece.count; done += cached_run_) {
    const std::size_t first = piece.first + done;
    const SignRun run{type_, first, std::min(cached_run_, piece.count - done)};
    scale_.blocks().measure(run);
    kernels_.sign.pack(run, call_.input_at(first), call_.feedback_at(first), some_scale_.data(),
                       (sample_.rank + call_.step) % 2 == 0, signs_at(first));
  }
}

std::size_t MarsitPayload::encode(std::size_t contributions, const Piece& piece, Payload out) {
  const SignRun run = run_of(piece);
  std::uint64_t* const signs = signs_at(piece.first);
  const std::size_t words = words_of_run(piece.count, sign_block, 1);
  scale_.clear_blocks_without_signs(piece, {signs, words});
  if (contributions == alone) {
    kernels_.sample.gather_own(sample_, key_, run, signs, out.data());
  } else {
    memory_.copy(out.data(), signs, words * 8);
    kernels_.sample.keep_own(sample_, key_, run, out.data());
  }
  return capacity(contributions, piece.count);
}

std::size_t MarsitPayload::promote(const Piece& piece, std::span<const ConstPayload> contributions,
                                   std::size_t /*room*/, Payload sum) {
  auto& contribution_words = contribution_words_.mine();
  contribution_words.clear();
  for (ConstPayload words : contributions) contribution_words.push_back(words.data());
  kernels_.sample.place(sample_, key_, run_of(piece), contribution_words.data(), sum.data());
  return capacity(ranks_, piece.count);
}

void MarsitPayload::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  kernels_.sign.expand(run_of(piece), sum.data(), scale_.scales(piece).data(), ranks_, divisor_,
                       call_.feedback_at(piece.first), call_.output_at(piece.first));
}

class MarsitCodec final : public Codec {
 public:
  MarsitCodec(const CodecContext& context, const MarsitOptions& options)
      : type_(context.type),
        options_(options),
        scale_(make_common_sign_scale(
            {context, options.scale, "marsit", call_,
             [this](const Piece& piece) { payload_.measure_and_pack(piece); },
             // Which blocks have signs is all that encoding asks.
             NeededBy::decoding})),
        payload_(context, options_, *scale_, call_),
        outlier_round_(context, call_, [this](OutlierBlocks& blocks) { find_outliers(blocks); }),
        exact_(context, call_) {
    for (Round* const round : scale_->rounds()) add(*round);
    add(payload_);
    add(outlier_round_);
    if (options_.period != 0) add(exact_);
  }

  [[nodiscard]] std::size_t block() const override { return sign_block; }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return options_.compensation ? elements * feedback_size(type_) : 0;
  }
  [[nodiscard]] bool skips(const Round& round) const override {
    return (&round == &exact_) != options_.exact(call_.step);
  }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    scale_->reserve(elements, longest_piece);
    payload_.reserve(elements, longest_piece);
  }

 private:
  void start() override { payload_.start(); }
  void find_outliers(OutlierBlocks& blocks) {
    if (!options_.exact(call_.step)) scale_->find_outliers(call_.pieces, blocks);
  }

  ElementType type_;
  MarsitOptions options_;
  std::unique_ptr<CommonSignScale> scale_;
  MarsitPayload payload_;
  OutlierRound outlier_round_;
  MarsitExact exact_;
};

// The sign of one rank stands for all: n^2 of the mean's energy is lost.
constexpr CodecSample samples[] = {{.spec = "marsit",
                                    .clamped = 3,
                                    .rounded = 1.5,
                                    .full_levels = true,
                                    .block_scale = false,
                                    .outlier_elements = 1024,
                                    .shares_step = true,
                                    .signs = true},
                                   {.spec = "marsit:compensation=on,seed=3",
                                    .clamped = 3,
                                    .rounded = 1.5,
                                    .full_levels = true,
                                    .block_scale = false,
                                    .outlier_elements = 1024,
                                    .shares_step = true,
                                    .signs = true},
                                   {.spec = "marsit:scale=0.8,period=none",
                                    .clamped = 40,
                                    .rounded = 40,
                                    .full_levels = true,
                                    .block_scale = false,
                                    .outlier_elements = 1024,
                                    .absolute = true,
                                    .signs = true},
                                   {.spec = "marsit:period=1,compensation=on"}};

}  // namespace

std::unique_ptr<Codec> make_marsit(const CodecContext& context) {
  return std::make_unique<MarsitCodec>(context, parse_marsit_options(context.parameters));
}

const CodecRow& marsit_codec() {
  static const CodecRow row{
      .info = {"marsit",
               "one bit a value through every hop: signs of ranks chosen at random (DAC'22)",
               marsit_parameters()},
      .make = make_marsit,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) {
                       return complete(device.sign) && complete(device.sample);
                     }},
      .samples = samples,
      .in_workers = true,
  };
  return row;
}

}  // namespace cohom
