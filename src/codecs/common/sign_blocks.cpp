#include "codecs/common/sign_blocks.hpp"

#include "codecs/common/agreed_value.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/thc/thc.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace cohom {

using kernels::outlier_code;
using kernels::sign_block;
using kernels::sign_exponent_offset;
using kernels::SignBlock;

SignBlocks::SignBlocks(const CodecContext& context, std::string_view codec, bool of_input,
                       const CallBuffers& call)
    : type_(context.type),
      kernels_(context.kernels.sign),
      codec_(codec),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      rank_bits_(static_cast<int>(std::bit_width(ranks_ - 1))),
      workers_(context.workers),
      of_input_(of_input),
      call_(call) {}

void SignBlocks::reserve(std::size_t elements) {
  elements_ = elements;
  blocks_.resize(count(elements));
}

void SignBlocks::measure(const kernels::SignRun& run) {
  kernels_.measure(run, call_.input_at(run.first), call_.feedback_at(run.first), of_input_,
                   &blocks_[run.first / sign_block]);
}

std::span<const SignBlock> SignBlocks::of(const Piece& piece) const {
  return std::span(blocks_).subspan(piece.first / sign_block, count(piece.count));
}

std::uint32_t SignBlocks::largest_code() const {
  std::uint32_t largest = 0;
  for (const SignBlock& block : blocks_)
    if (block.code != outlier_code) largest = std::max(largest, block.code);
  return largest;
}

std::uint32_t SignBlocks::checked(std::string_view round, std::uint64_t code,
                                  bool may_be_outliers) const {
  using kernels::body::FloatFormat;
  const bool is_f64 = type_ == ElementType::f64;
  const int bias = is_f64 ? FloatFormat<double>::bias : FloatFormat<float>::bias;
  const int bits = is_f64 ? FloatFormat<double>::mantissa_bits : FloatFormat<float>::mantissa_bits;
  // From the least denormal's exponent to the largest number's.
  const int lowest = sign_exponent_offset - (bias - 1) - bits;
  const int highest = sign_exponent_offset + bias;
  const auto least = static_cast<std::uint64_t>(lowest), most = static_cast<std::uint64_t>(highest);
  if (code == 0 || (code >= least && code <= most) || (may_be_outliers && code == outlier_code))
    return static_cast<std::uint32_t>(code);
  refuse_agreed(codec_, round, code,
                "0, or " + std::to_string(least) + " to " + std::to_string(most));
}

void SignBlocks::expect_no_less(std::string_view round, std::uint32_t code,
                                std::uint32_t own) const {
  if (code < own) refuse_agreed(codec_, round, code, "this rank alone " + std::to_string(own));
}

double SignBlocks::rounded(double scale) const {
  return type_ == ElementType::f64 ? scale : static_cast<double>(static_cast<float>(scale));
}

}  // namespace cohom
