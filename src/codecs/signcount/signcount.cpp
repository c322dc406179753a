#include "codecs/signcount/signcount.hpp"

#include "codecs/common/escape_round.hpp"
#include "codecs/common/lane_layout.hpp"
#include "codecs/signcount/signcount_options.hpp"
#include "kernels/sign/sign.hpp"

#include <vector>

namespace cohom {
namespace {

using kernels::sign_block;
using kernels::SignRun;

class SigncountCodec final : public Codec {
 public:
  SigncountCodec(const CodecContext& context, const SigncountOptions& options)
      : type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        divisor_(context.divisor),
        kernels_(context.kernels.sign),
        memory_(context.memory),
        options_(options),
        counts_{static_cast<std::uint32_t>(context.ranks),
                smallest_lane_width(static_cast<std::uint64_t>(context.ranks))},
        scale_(context, options.scale, "signcount"),
        escape_(context),
        rounds_(scale_.rounds()) {
    payload_ = static_cast<int>(rounds_.size());
    rounds_.push_back({.name = "payload",
                       .merge = {MergeKind::add},
                       .narrow = counts_.width > 1,
                       .finishes = options.majority});
    rounds_.push_back(EscapeRound::info(type_));
    contribution_words_.reserve(counts_.ranks);
  }

  [[nodiscard]] std::size_t block() const override { return sign_block; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return payload_; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override {
    if (round < payload_) return scale_.capacity(round, elements);
    if (round > payload_) return escape_.capacity(elements);
    return words_of_run(elements, sign_block, form == Form::narrow ? 1 : counts_.width);
  }
  [[nodiscard]] std::size_t finished_capacity(int, std::size_t elements) const override {
    return words_of_run(elements, sign_block, options_.majority ? 1 : counts_.width);
  }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return options_.error_feedback ? elements * feedback_size(type_) : 0;
  }

  void reserve(std::size_t elements, std::size_t longest_piece) override {
    scale_.reserve(elements, longest_piece);
    signs_ = {memory_, words_of_run(longest_piece, sign_block, 1)};
  }
  void begin(const CallBuffers& call) override {
    call_ = call;
    escape_.blocks().clear();
  }
  std::size_t late_elements(int, const Agreed& agreed) override {
    return scale_.find_escaped(agreed, escape_.blocks());
  }
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t widen(int round, const Piece& piece, const Agreed& agreed,
                    std::span<const ConstWords> contributions, Words sum) override;
  [[nodiscard]] std::optional<Widening> widening(int round) const override {
    if (round != payload_ || counts_.width == 1) return std::nullopt;
    return Widening{.narrow_width = 1,
                    .wide_width = static_cast<std::uint8_t>(counts_.width),
                    .block = sign_block};
  }
  std::size_t finish(int round, const Piece& piece, Words sum, std::size_t words) override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  [[nodiscard]] SignRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  void pack(const Piece& piece, const Agreed& agreed, std::uint64_t* signs);

  ElementType type_;
  std::uint32_t rank_;
  std::uint64_t divisor_;
  const kernels::SignKernels& kernels_;
  Memory& memory_;
  SigncountOptions options_;
  kernels::SignCounts counts_;
  SignScale scale_;
  EscapeRound escape_;
  std::vector<RoundInfo> rounds_;
  int payload_ = 0;

  MemoryArray<std::uint64_t> signs_;                      ///< of one piece
  std::vector<const std::uint64_t*> contribution_words_;  ///< of one call of widen()
  CallBuffers call_;
};

void SigncountCodec::pack(const Piece& piece, const Agreed& agreed, std::uint64_t* signs) {
  const double* scales = scale_.scales(piece, agreed).data();
  const bool zeros_are_plus = (rank_ + call_.step) % 2 == 0;
  if (std::byte* feedback = call_.feedback_at(piece.first))
    kernels_.pack_feedback(run_of(piece), feedback, scales, zeros_are_plus, signs);
  else
    kernels_.pack(run_of(piece), call_.input_at(piece.first), nullptr, scales, zeros_are_plus,
                  signs);
}

std::size_t SigncountCodec::encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                                   Words out) {
  if (round < payload_) {
    if (round == 0) scale_.measure(run_of(piece), call_);
    return scale_.encode(round, piece, agreed, out);
  }
  if (round > payload_) return escape_.encode(piece, call_.input, call_.feedback_at(0), out);
  if (form == Form::narrow || counts_.width == 1) {
    pack(piece, agreed, out.data());
  } else {
    pack(piece, agreed, signs_.data());
    const std::uint64_t* const own = signs_.data();
    kernels_.count(counts_, run_of(piece), &own, 1, out.data());
  }
  return capacity(round, form, piece.count);
}

std::size_t SigncountCodec::widen(int round, const Piece& piece, const Agreed&,
                                  std::span<const ConstWords> contributions, Words sum) {
  if (round > payload_) return escape_.add(piece, contributions, sum);
  contribution_words_.clear();
  for (ConstWords words : contributions) contribution_words_.push_back(words.data());
  kernels_.count(counts_, run_of(piece), contribution_words_.data(), contributions.size(),
                 sum.data());
  return capacity(round, Form::wide, piece.count);
}

/// A tie goes to plus in half of the positions, and to minus there in the next call.
std::size_t SigncountCodec::finish(int round, const Piece& piece, Words sum, std::size_t) {
  kernels_.majority(counts_, run_of(piece), sum.data(), call_.step % 2 != 0, sum.data());
  return finished_capacity(round, piece.count);
}

void SigncountCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                            std::size_t) {
  if (round > payload_) return escape_.decode(piece, sum, call_.output);
  const double* scales = scale_.scales(piece, agreed).data();
  std::byte* const output = call_.output_at(piece.first);
  if (options_.majority)
    kernels_.expand(run_of(piece), sum.data(), scales, counts_.ranks, divisor_, nullptr, output);
  else
    kernels_.expand_counts(counts_, run_of(piece), sum.data(), scales, divisor_, output);
}

}  // namespace

std::unique_ptr<Codec> make_signcount(const CodecContext& context) {
  return std::make_unique<SigncountCodec>(context, parse_signcount_options(context.parameters));
}

}  // namespace cohom
