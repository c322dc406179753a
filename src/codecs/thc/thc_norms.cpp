#include "codecs/thc/thc_norms.hpp"

#include "base/log.hpp"
#include "codecs/common/agreed_value.hpp"
#include "codecs/common/global_scale.hpp"
#include "kernels/thc/body/norm_code.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cohom {
namespace {

using kernels::outlier_code;

struct CodeRange {
  std::uint32_t least = 0, most = 0;
};

/// Codes of norms that ranks can have: of a block of a least denormal, to one of 2^16 largest
/// numbers. The mean of a vector can be 2^16 times smaller than any value.
template <class Real>
CodeRange code_range() {
  using kernels::body::FloatFormat;
  using kernels::body::norm_code_of;
  constexpr int bias = FloatFormat<Real>::bias;
  return {norm_code_of(Real{1}, 1 - bias - FloatFormat<Real>::mantissa_bits - 32),
          norm_code_of(Real{1}, bias + 10)};
}

/// What both forms know.
class Norms {
 public:
  Norms(const CodecContext& context, const kernels::ThcFormat& format, const CallBuffers& call)
      : type_(context.type),
        kernels_(context.kernels.thc),
        format_(format),
        call_(call),
        workers_(context.workers),
        range_(type_ == ElementType::f64 ? code_range<double>() : code_range<float>()) {}

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t block() const { return format_.rotation; }
  [[nodiscard]] const CallBuffers& call() const { return call_; }
  [[nodiscard]] std::size_t workers() const { return workers_; }

  void measure(const Piece& piece, std::uint32_t* codes) const {
    kernels_.measure(format_, {type_, piece.first, piece.count}, call_.input_at(piece.first),
                     call_.feedback_at(piece.first), codes);
  }

  /// A code that is none makes a scale that is no number.
  void check(std::uint32_t code) const {
    if (code == 0 || code == outlier_code) return;
    if (code < range_.least || code > range_.most)
      refuse_agreed("thc", "norms", code,
                    "0, " + std::to_string(range_.least) + " to " + std::to_string(range_.most) +
                        ", or " + std::to_string(outlier_code));
  }

 private:
  ElementType type_;
  const kernels::ThcKernels& kernels_;
  const kernels::ThcFormat& format_;
  const CallBuffers& call_;
  std::size_t workers_;
  CodeRange range_;
};

class BlockNorms final : public BlockCodes {
 public:
  explicit BlockNorms(const Norms& norms)
      : BlockCodes("norms", norms.block(), norms.workers()), norms_(norms) {}

 private:
  void measure(const Piece& piece, std::span<std::uint32_t> codes) override {
    norms_.measure(piece, codes.data());
  }
  void check(std::uint32_t code) const override { norms_.check(code); }

  Norms norms_;
};

class GlobalNorm final : public BlockScale {
 public:
  explicit GlobalNorm(const Norms& norms)
      : BlockScale({.name = "norms", .merge = {MergeKind::max}, .scope = RoundScope::vector}),
        norms_(norms),
        codes_(norms.workers()) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements != 0;
  }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    elements_ = elements;
    codes_.for_each([&](auto& codes) { codes.reserve(blocks_of(longest_piece)); });
    vector_codes_.resize(blocks_of(elements));
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::span<const std::uint32_t> codes(const Piece& piece) override;

 private:
  [[nodiscard]] std::size_t blocks_of(std::size_t elements) const {
    return (elements + norms_.block() - 1) / norms_.block();
  }

  Norms norms_;
  std::size_t elements_ = 0;                     ///< of the vector
  PerWorker<std::vector<std::uint32_t>> codes_;  ///< of one piece
  std::vector<std::uint32_t> vector_codes_;      ///< of all blocks, in block order
};

std::size_t GlobalNorm::encode(std::size_t, const Piece& piece, Payload out) {
  // Pieces come segment by segment, so the codes are put in block order before they are summed.
  norms_.measure(piece, vector_codes_.data() + piece.first / norms_.block());
  if (!norms_.call().is_last(piece)) return 1;
  out[0] = global_code(norms_.type(), vector_codes_, elements_);
  if (clipped_by_global(norms_.type(), std::ranges::max(vector_codes_),
                        static_cast<std::uint32_t>(out[0]), norms_.block()))
    warn_once(
        "thc: scale=global clips blocks whose norm is twice the average and more, as this vector "
        "has; take scale=block, or a larger rotation");
  return 1;
}

std::span<const std::uint32_t> GlobalNorm::codes(const Piece& piece) {
  const auto code = static_cast<std::uint32_t>(agreed(piece)[0]);
  norms_.check(code);
  auto& codes = codes_.mine();
  codes.resize(blocks_of(piece.count));
  std::ranges::fill(codes, block_code_of_global(norms_.type(), code, norms_.block()));
  if (const std::size_t ragged = piece.count % norms_.block(); ragged != 0)
    codes.back() = block_code_of_global(norms_.type(), code, padded_block(ragged));
  return codes;
}

}  // namespace

std::unique_ptr<BlockScale> make_thc_norms(const CodecContext& context, const ThcOptions& options,
                                           const kernels::ThcFormat& format,
                                           const CallBuffers& call) {
  const Norms norms(context, format, call);
  if (options.global_scale) return std::make_unique<GlobalNorm>(norms);
  return std::make_unique<BlockNorms>(norms);
}

}  // namespace cohom
