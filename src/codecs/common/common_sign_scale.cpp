// CommonSignScale of both kinds: `vector` and `number`.

#include "codecs/common/agreed_value.hpp"
#include "codecs/common/sign_scale.hpp"
#include "kernels/thc/thc.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace cohom {
namespace {

using kernels::outlier_code;
using kernels::sign_block;
using kernels::SignBlock;

/// Two bits a block: whether it is not zero, whether it is an outlier.
constexpr std::size_t blocks_a_word = 32;

std::uint64_t bits_of(ConstPayload words, std::size_t block) {
  return words[block / blocks_a_word] >> (block % blocks_a_word * 2) & 3;
}

class BlocksRound final : public Round {
 public:
  BlocksRound(SignBlocks& blocks, SignScale::Measure measure)
      : Round({.name = "blocks", .merge = {MergeKind::bit_or}}),
        blocks_(blocks),
        measure_(std::move(measure)) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (SignBlocks::count(elements) + blocks_a_word - 1) / blocks_a_word;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override {
    measure_(piece);
    const auto blocks = blocks_.of(piece);
    const std::size_t words = capacity(contributions, piece.count);
    std::fill_n(out.begin(), words, std::uint64_t{0});
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::uint64_t bits =
          (blocks[i].alive ? 1 : 0) | (blocks[i].code == outlier_code ? 2 : 0);
      out[i / blocks_a_word] |= bits << (i % blocks_a_word * 2);
    }
    return words;
  }
  /// Of each block, for bits_of().
  [[nodiscard]] ConstPayload bits(const Piece& piece) const { return agreed(piece); }

 private:
  SignBlocks& blocks_;
  SignScale::Measure measure_;
};

/// A round of one word, which the last piece's call writes.
class OneWordRound : public Round {
 public:
  OneWordRound(std::string_view name, MergeKind merge, NeededBy needed_by, const CallBuffers& call)
      : Round(
            {.name = name, .merge = {merge}, .scope = RoundScope::vector, .needed_by = needed_by}),
        call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements != 0;
  }
  std::size_t encode(std::size_t, const Piece& piece, Payload out) override {
    if (call_.is_last(piece)) out[0] = own_word(piece);
    return 1;
  }

 protected:
  virtual std::uint64_t own_word(const Piece& piece) = 0;

 private:
  const CallBuffers& call_;
};

class ExponentRound final : public OneWordRound {
 public:
  ExponentRound(SignBlocks& blocks, const SignScaleSetup& setup)
      : OneWordRound("exponent", MergeKind::max, setup.later_rounds_needed_by, setup.call),
        blocks_(blocks) {}

  [[nodiscard]] std::uint32_t code(const Piece& piece) const {
    return blocks_.checked("exponent", agreed(piece)[0], false);
  }

 private:
  std::uint64_t own_word(const Piece&) override { return blocks_.largest_code(); }

  SignBlocks& blocks_;
};

class MeanRound final : public OneWordRound {
 public:
  MeanRound(SignBlocks& blocks, const ExponentRound& exponent, const SignScaleSetup& setup)
      : OneWordRound("mean", MergeKind::add, setup.later_rounds_needed_by, setup.call),
        blocks_(blocks),
        exponent_(exponent) {}

  /// The mean magnitude, of all ranks.
  [[nodiscard]] double mean(const Piece& piece) const;

 private:
  std::uint64_t own_word(const Piece& piece) override;

  SignBlocks& blocks_;
  const ExponentRound& exponent_;
};

/// In units of 2^-(61 - rank bits) of the agreed power of two; a mean is at most 2.
std::uint64_t MeanRound::own_word(const Piece& piece) {
  const std::uint32_t largest = exponent_.code(piece);
  blocks_.expect_no_less("exponent", largest, blocks_.largest_code());
  double sum = 0;
  for (const SignBlock& block : blocks_.all())
    if (block.code != 0 && block.code != outlier_code)
      sum += std::ldexp(block.sum,
                        SignBlocks::exponent_of(block.code) - SignBlocks::exponent_of(largest));
  const double mean = sum / static_cast<double>(blocks_.elements());
  return static_cast<std::uint64_t>(std::ldexp(mean, 61 - blocks_.rank_bits()));
}

double MeanRound::mean(const Piece& piece) const {
  const std::uint32_t code = exponent_.code(piece);
  if (code == 0) return 0;
  const std::uint64_t sum = agreed(piece)[0];
  const int rank_bits = blocks_.rank_bits();
  // A rank's mean is at most 2.
  if (const auto most = blocks_.ranks() * (std::uint64_t{1} << (62 - rank_bits)); sum > most)
    refuse_agreed(blocks_.codec(), "mean", sum, "up to " + std::to_string(most));
  const double mean = static_cast<double>(sum) / blocks_.ranks();
  return std::ldexp(mean, SignBlocks::exponent_of(code) - 61 + rank_bits);
}

class ScaleOfAliveBlocks : public CommonSignScale {
 public:
  ScaleOfAliveBlocks(const SignBlocks& blocks, const SignScaleSetup& setup)
      : CommonSignScale(blocks), memory_(setup.context.memory), bits_(blocks_, setup.measure) {}

  void clear_blocks_without_signs(const Piece& piece, Payload signs) const override;

 protected:
  virtual double common_scale(const Piece& piece) = 0;
  [[nodiscard]] BlocksRound& bits_round() { return bits_; }

 private:
  void find_scales(const Piece& piece, std::span<double> scales) override {
    const ConstPayload bits = bits_.bits(piece);
    const double scale = blocks_.rounded(common_scale(piece));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const std::uint64_t block = bits_of(bits, i);
      scales[i] = (block & 2) != 0 ? -1 : (block & 1) != 0 ? scale : 0;
    }
  }

  Memory& memory_;
  BlocksRound bits_;
};

void ScaleOfAliveBlocks::clear_blocks_without_signs(const Piece& piece, Payload signs) const {
  constexpr std::size_t block_words = sign_block / 64;
  const ConstPayload bits = bits_.bits(piece);
  const std::size_t blocks = SignBlocks::count(piece.count);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t first = i;
    while (i < blocks && bits_of(bits, i) != 1) ++i;
    if (i == first) continue;
    const std::size_t end = std::min(i * block_words, signs.size());
    memory_.zero(&signs[first * block_words], (end - first * block_words) * 8);
  }
}

class VectorSignScale final : public ScaleOfAliveBlocks {
 public:
  VectorSignScale(const SignBlocks& blocks, const SignScaleSetup& setup)
      : ScaleOfAliveBlocks(blocks, setup),
        exponent_(blocks_, setup),
        mean_(blocks_, exponent_, setup) {}

  [[nodiscard]] std::span<Round* const> rounds() override { return rounds_; }

 private:
  double common_scale(const Piece& piece) override { return mean_.mean(piece); }

  ExponentRound exponent_;
  MeanRound mean_;
  Round* rounds_[3] = {&bits_round(), &exponent_, &mean_};
};

class NumberSignScale final : public ScaleOfAliveBlocks {
 public:
  NumberSignScale(const SignBlocks& blocks, const SignScaleSetup& setup)
      : ScaleOfAliveBlocks(blocks, setup), number_(setup.options.number) {}

  [[nodiscard]] std::span<Round* const> rounds() override { return rounds_; }

 private:
  double common_scale(const Piece&) override { return number_; }

  double number_;
  Round* rounds_[1] = {&bits_round()};
};

}  // namespace

std::unique_ptr<CommonSignScale> make_common_sign_scale(const SignScaleSetup& setup) {
  const SignBlocks blocks(setup.context, setup.codec, setup.options.of_input, setup.call);
  if (setup.options.kind == SignScaleKind::number)
    return std::make_unique<NumberSignScale>(blocks, setup);
  return std::make_unique<VectorSignScale>(blocks, setup);
}

}  // namespace cohom
