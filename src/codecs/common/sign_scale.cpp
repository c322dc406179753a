#include "codecs/common/sign_scale.hpp"

#include "codecs/common/agreed_value.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/thc/thc.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace cohom {
namespace {

using kernels::escaped_code;
using kernels::sign_block;
using kernels::sign_exponent_offset;
using kernels::SignBlock;
using kernels::SignRun;

/// Rounds of SignScaleKind::block.
enum BlockRound : int { exponents_round, means_round };
/// Rounds of the other kinds; with a number there is the first alone.
enum VectorRound : int { blocks_round, exponent_round, mean_round };

/// Two bits a block: whether it is not zero, whether it escapes.
constexpr std::size_t blocks_a_word = 32;

std::size_t blocks_of(std::size_t elements) { return (elements + sign_block - 1) / sign_block; }

std::uint32_t half_of(ConstWords words, std::size_t index) {
  return static_cast<std::uint32_t>(words[index / 2] >> (index % 2 * 32));
}

void put_half(Words words, std::size_t index, std::uint32_t value) {
  auto& word = words[index / 2];
  word = index % 2 == 0 ? value : word | std::uint64_t{value} << 32;
}

int exponent_of(std::uint32_t code) { return static_cast<int>(code) - sign_exponent_offset; }

}  // namespace

SignScale::SignScale(const CodecContext& context, const SignScaleOptions& options,
                     std::string_view codec)
    : type_(context.type),
      kernels_(context.kernels.sign),
      memory_(context.memory),
      codec_(codec),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      rank_bits_(static_cast<int>(std::bit_width(ranks_ - 1))),
      options_(options) {}

std::vector<RoundInfo> SignScale::rounds() const {
  if (options_.kind == SignScaleKind::block)
    return {{.name = "exponents", .merge = {MergeKind::max}},
            {.name = "means", .merge = {MergeKind::add}}};
  std::vector<RoundInfo> rounds{{.name = "blocks", .merge = {MergeKind::bit_or}}};
  if (options_.kind == SignScaleKind::vector) {
    rounds.push_back({.name = "exponent", .merge = {MergeKind::max}, .scope = RoundScope::vector});
    rounds.push_back({.name = "mean", .merge = {MergeKind::add}, .scope = RoundScope::vector});
  }
  return rounds;
}

std::size_t SignScale::capacity(int round, std::size_t elements) const {
  const std::size_t blocks = blocks_of(elements);
  if (options_.kind == SignScaleKind::block) return (blocks + 1) / 2;
  if (round == blocks_round) return (blocks + blocks_a_word - 1) / blocks_a_word;
  return elements != 0;
}

void SignScale::reserve(std::size_t elements, std::size_t longest_piece) {
  elements_ = elements;
  blocks_.resize(blocks_of(elements));
  scales_.reserve(blocks_of(longest_piece));
}

std::span<SignBlock> SignScale::blocks_of_piece(const Piece& piece) {
  return std::span(blocks_).subspan(piece.first / sign_block, blocks_of(piece.count));
}

void SignScale::measure(const SignRun& run, const CallBuffers& call) {
  kernels_.measure(run, call.input_at(run.first), call.feedback_at(run.first), options_.of_input,
                   &blocks_[run.first / sign_block]);
}

std::size_t SignScale::encode(int round, const Piece& piece, const Agreed& agreed, Words out) {
  const auto blocks = blocks_of_piece(piece);
  if (options_.kind == SignScaleKind::block)
    return round == exponents_round
               ? encode_codes(blocks, out)
               : encode_sums(blocks, agreed.words(exponents_round, piece), out);
  if (round == blocks_round) return encode_blocks(blocks, out);
  if (piece.index + 1 != agreed.pieces().size()) return 1;
  if (round == exponent_round) {
    out[0] = own_exponent();
  } else {
    out[0] =
        encode_mean(checked("exponent", agreed.words(exponent_round, piece)[0], own_exponent()));
  }
  return 1;
}

std::size_t SignScale::encode_codes(std::span<const SignBlock> blocks, Words out) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) put_half(out, i, blocks[i].code);
  return (blocks.size() + 1) / 2;
}

/// A sum is at most 2048, and all ranks' together stay below 2^32. Where some rank's block escapes
/// there is no power of two to count in, and no mean.
std::size_t SignScale::encode_sums(std::span<const SignBlock> blocks, ConstWords agreed_codes,
                                   Words out) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint32_t largest = checked("exponents", half_of(agreed_codes, i), blocks[i].code);
    const int shift = 20 - rank_bits_ + exponent_of(blocks[i].code) - exponent_of(largest);
    const double sum = largest == escaped_code ? 0 : std::ldexp(blocks[i].sum, shift);
    put_half(out, i, static_cast<std::uint32_t>(sum));
  }
  return (blocks.size() + 1) / 2;
}

std::size_t SignScale::encode_blocks(std::span<const SignBlock> blocks, Words out) const {
  const std::size_t words = (blocks.size() + blocks_a_word - 1) / blocks_a_word;
  std::fill_n(out.begin(), words, std::uint64_t{0});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint64_t bits = (blocks[i].alive ? 1 : 0) | (blocks[i].code == escaped_code ? 2 : 0);
    out[i / blocks_a_word] |= bits << (i % blocks_a_word * 2);
  }
  return words;
}

std::uint32_t SignScale::own_exponent() const {
  std::uint32_t largest = 0;
  for (const SignBlock& block : blocks_)
    if (block.code != escaped_code) largest = std::max(largest, block.code);
  return largest;
}

/// In units of 2^-(61 - rank_bits) of the agreed power of two; a mean is at most 2.
std::uint64_t SignScale::encode_mean(std::uint32_t largest) const {
  double sum = 0;
  for (const SignBlock& block : blocks_)
    if (block.code != 0 && block.code != escaped_code)
      sum += std::ldexp(block.sum, exponent_of(block.code) - exponent_of(largest));
  const double mean = sum / static_cast<double>(elements_);
  return static_cast<std::uint64_t>(std::ldexp(mean, 61 - rank_bits_));
}

std::uint32_t SignScale::checked(std::string_view round, std::uint64_t code) const {
  using kernels::body::FloatFormat;
  const bool is_f64 = type_ == ElementType::f64;
  const int bias = is_f64 ? FloatFormat<double>::bias : FloatFormat<float>::bias;
  const int bits = is_f64 ? FloatFormat<double>::mantissa_bits : FloatFormat<float>::mantissa_bits;
  // From the least denormal's exponent to the largest number's.
  const auto least = static_cast<std::uint64_t>(sign_exponent_offset - (bias - 1) - bits);
  const auto most = static_cast<std::uint64_t>(sign_exponent_offset + bias);
  const bool may_escape = options_.kind == SignScaleKind::block;
  if (code == 0 || (code >= least && code <= most) || (may_escape && code == escaped_code))
    return static_cast<std::uint32_t>(code);
  refuse_agreed(codec_, round, code,
                "0, or " + std::to_string(least) + " to " + std::to_string(most));
}

std::uint32_t SignScale::checked(std::string_view round, std::uint64_t code,
                                 std::uint32_t own) const {
  if (code < own) refuse_agreed(codec_, round, code, "this rank alone " + std::to_string(own));
  return checked(round, code);
}

double SignScale::rounded(double scale) const {
  return type_ == ElementType::f64 ? scale : static_cast<double>(static_cast<float>(scale));
}

double SignScale::block_scale(std::uint32_t code, std::uint32_t sum, std::size_t count) const {
  if (checked("exponents", code) == escaped_code) return -1;
  if (code == 0) return 0;
  // A rank's sum is at most twice its block's elements.
  if (const auto most = std::uint64_t{count} << (21 - rank_bits_); sum > most * ranks_)
    refuse_agreed(codec_, "means", sum, "up to " + std::to_string(most * ranks_));
  const double mean = sum / (static_cast<double>(ranks_) * static_cast<double>(count));
  return rounded(std::ldexp(mean, exponent_of(code) - 20 + rank_bits_));
}

double SignScale::vector_scale(const Piece& piece, const Agreed& agreed) const {
  if (options_.kind == SignScaleKind::number) return rounded(options_.number);
  const std::uint32_t code = checked("exponent", agreed.words(exponent_round, piece)[0]);
  if (code == 0) return 0;
  const std::uint64_t sum = agreed.words(mean_round, piece)[0];
  // A rank's mean is at most 2.
  if (const auto most = ranks_ * (std::uint64_t{1} << (62 - rank_bits_)); sum > most)
    refuse_agreed(codec_, "mean", sum, "up to " + std::to_string(most));
  const double mean = static_cast<double>(sum) / ranks_;
  return rounded(std::ldexp(mean, exponent_of(code) - 61 + rank_bits_));
}

std::span<const double> SignScale::scales(const Piece& piece, const Agreed& agreed) {
  scales_.resize(blocks_of(piece.count));
  if (options_.kind == SignScaleKind::block) {
    const ConstWords codes = agreed.words(exponents_round, piece);
    const ConstWords sums = agreed.words(means_round, piece);
    for (std::size_t i = 0; i < scales_.size(); ++i)
      scales_[i] = block_scale(half_of(codes, i), half_of(sums, i),
                               std::min(sign_block, piece.count - i * sign_block));
    return scales_;
  }
  const ConstWords bits = agreed.words(blocks_round, piece);
  const double scale = vector_scale(piece, agreed);
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    const std::uint64_t block = bits[i / blocks_a_word] >> (i % blocks_a_word * 2);
    scales_[i] = (block & 2) != 0 ? -1 : (block & 1) != 0 ? scale : 0;
  }
  return scales_;
}

void SignScale::clear_blocks_without_signs(const Piece& piece, const Agreed& agreed,
                                           Words signs) const {
  constexpr std::size_t block_words = sign_block / 64;
  const ConstWords bits = agreed.words(blocks_round, piece);
  const std::size_t blocks = blocks_of(piece.count);
  const auto has_signs = [&](std::size_t i) {
    return (bits[i / blocks_a_word] >> (i % blocks_a_word * 2) & 3) == 1;
  };
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t first = i;
    while (i < blocks && !has_signs(i)) ++i;
    if (i == first) continue;
    const std::size_t end = std::min(i * block_words, signs.size());
    memory_.zero(&signs[first * block_words], (end - first * block_words) * 8);
  }
}

std::size_t SignScale::find_escaped(const Agreed& agreed, EscapedBlocks& escaped) {
  escaped.clear();
  for (const Piece& piece : agreed.pieces()) {
    const auto found = scales(piece, agreed);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] < 0)
        escaped.add(piece.first + i * sign_block,
                    std::min(sign_block, piece.count - i * sign_block));
  }
  return escaped.finish();
}

}  // namespace cohom
