#include "codecs/common/block_sign_scale.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/common/block_scale.hpp"
#include "kernels/thc/thc.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace cohom {
namespace {

using kernels::outlier_code;
using kernels::sign_block;
using kernels::SignBlock;

class ExponentsRound final : public BlockCodes {
 public:
  ExponentsRound(SignBlocks& blocks, SignScale::Measure measure)
      : BlockCodes("exponents", sign_block, blocks.workers()),
        blocks_(blocks),
        measure_(std::move(measure)) {}

 private:
  void measure(const Piece& piece, std::span<std::uint32_t> codes) override {
    measure_(piece);
    std::ranges::transform(blocks_.of(piece), codes.begin(), &SignBlock::code);
  }
  void check(std::uint32_t code) const override {
    static_cast<void>(blocks_.checked("exponents", code, true));
  }

  SignBlocks& blocks_;
  SignScale::Measure measure_;
};

class MeansRound final : public Round {
 public:
  MeansRound(SignBlocks& blocks, ExponentsRound& exponents, NeededBy needed_by)
      : Round({.name = "means", .merge = {MergeKind::add}, .needed_by = needed_by}),
        blocks_(blocks),
        exponents_(exponents),
        sums_(blocks.workers()) {}

  void reserve(std::size_t longest_piece) {
    sums_.for_each([&](auto& sums) { sums.reserve(SignBlocks::count(longest_piece)); });
  }
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (SignBlocks::count(elements) + 1) / 2;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  /// Of all ranks' blocks: what is in units of 2^-(20 - rank bits) of the agreed power of two.
  [[nodiscard]] ConstPayload sums(const Piece& piece) const { return agreed(piece); }

 private:
  SignBlocks& blocks_;
  ExponentsRound& exponents_;
  PerWorker<std::vector<std::uint32_t>> sums_;  ///< of one piece
};

/// A sum is at most 2048, and all ranks' together stay below 2^32. Where some rank's block is an
/// outlier there is no power of two to count in, and no mean.
std::size_t MeansRound::encode(std::size_t, const Piece& piece, Payload out) {
  const auto blocks = blocks_.of(piece);
  const auto codes = exponents_.codes(piece);
  auto& sums = sums_.mine();
  sums.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint32_t largest = codes[i];
    blocks_.expect_no_less("exponents", largest, blocks[i].code);
    const int shift = 20 - blocks_.rank_bits() + SignBlocks::exponent_of(blocks[i].code) -
                      SignBlocks::exponent_of(largest);
    const double sum = largest == outlier_code ? 0 : std::ldexp(blocks[i].sum, shift);
    sums[i] = static_cast<std::uint32_t>(sum);
  }
  return put_halves(sums, out);
}

class BlockSignScale final : public SignScale {
 public:
  BlockSignScale(const SignBlocks& blocks, const SignScaleSetup& setup)
      : SignScale(blocks),
        exponents_(blocks_, setup.measure),
        means_(blocks_, exponents_, setup.later_rounds_needed_by) {}

  [[nodiscard]] std::span<Round* const> rounds() override { return rounds_; }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    SignScale::reserve(elements, longest_piece);
    exponents_.reserve(elements, longest_piece);
    means_.reserve(longest_piece);
  }

 private:
  void find_scales(const Piece& piece, std::span<double> scales) override;
  [[nodiscard]] double scale(std::uint32_t code, std::uint32_t sum, std::size_t count) const;

  ExponentsRound exponents_;
  MeansRound means_;
  Round* rounds_[2] = {&exponents_, &means_};
};

void BlockSignScale::find_scales(const Piece& piece, std::span<double> scales) {
  const auto codes = exponents_.codes(piece);
  const ConstPayload sums = means_.sums(piece);
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] =
        scale(codes[i], half_of(sums, i), std::min(sign_block, piece.count - i * sign_block));
}

double BlockSignScale::scale(std::uint32_t code, std::uint32_t sum, std::size_t count) const {
  if (code == outlier_code) return -1;
  if (code == 0) return 0;
  const int rank_bits = blocks_.rank_bits();
  // A rank's sum is at most twice its block's elements.
  if (const auto most = std::uint64_t{count} << (21 - rank_bits); sum > most * blocks_.ranks())
    refuse_agreed(blocks_.codec(), "means", sum, "up to " + std::to_string(most * blocks_.ranks()));
  const double mean = sum / (static_cast<double>(blocks_.ranks()) * static_cast<double>(count));
  return blocks_.rounded(std::ldexp(mean, SignBlocks::exponent_of(code) - 20 + rank_bits));
}

}  // namespace

std::unique_ptr<SignScale> make_block_sign_scale(const SignScaleSetup& setup) {
  const SignBlocks blocks(setup.context, setup.codec, setup.options.of_input, setup.call);
  return std::make_unique<BlockSignScale>(blocks, setup);
}

}  // namespace cohom
