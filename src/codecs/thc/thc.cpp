#include "codecs/thc/thc.hpp"

#include "base/log.hpp"
#include "codecs/common/agreed_value.hpp"
#include "codecs/common/escape_round.hpp"
#include "codecs/common/global_scale.hpp"
#include "codecs/common/lane_layout.hpp"
#include "codecs/thc/thc_options.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/thc/body/norm_code.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace cohom {
namespace {

using kernels::Dither;
using kernels::escaped_code;
using kernels::ThcRun;

struct CodeRange {
  std::uint32_t least = 0, most = 0;
};

enum Round : int { norms_round, payload_round_index, escape_round };

std::array<RoundInfo, 3> make_rounds(const ThcOptions& options, const kernels::ThcFormat& format,
                                     ElementType type) {
  return {RoundInfo{.name = "norms",
                    .merge = {MergeKind::max},
                    .scope = options.global_scale ? RoundScope::vector : RoundScope::piece},
          RoundInfo{.name = "payload",
                    .merge = {MergeKind::add},
                    .narrow = format.narrow_width < format.wide_width},
          EscapeRound::info(type)};
}

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

class ThcCodec final : public Codec {
 public:
  ThcCodec(const CodecContext& context, const ThcOptions& options)
      : type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        divisor_(context.divisor),
        kernels_(context.kernels),
        options_(options),
        format_(make_thc_format(options, rank_, static_cast<std::uint32_t>(context.ranks))),
        rounds_(make_rounds(options, format_, type_)),
        codes_range_(type_ == ElementType::f64 ? code_range<double>() : code_range<float>()),
        escape_(context) {}

  [[nodiscard]] std::size_t block() const override { return format_.rotation; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return payload_round_index; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override;
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override;

  void reserve(std::size_t elements, std::size_t longest_piece) override;
  [[nodiscard]] std::size_t device_scratch(std::size_t elements,
                                           std::size_t longest_piece) const override;
  void begin(const CallBuffers& call) override;
  std::size_t late_elements(int round, const Agreed& agreed) override;
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t widen(int round, const Piece& piece, const Agreed& agreed,
                    std::span<const ConstWords> contributions, Words sum) override;
  [[nodiscard]] std::optional<Widening> widening(int round) const override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  [[nodiscard]] std::size_t encode_norms(const Piece& piece, const Agreed& agreed, Words out);
  [[nodiscard]] std::span<const std::uint32_t> agreed_codes(const Piece& piece,
                                                            const Agreed& agreed);
  void check(std::uint32_t code) const;
  [[nodiscard]] std::size_t blocks_of(std::size_t elements) const {
    return (elements + block() - 1) / block();
  }
  [[nodiscard]] ThcRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }

  ElementType type_;
  std::uint32_t rank_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  ThcOptions options_;
  kernels::ThcFormat format_;
  std::array<RoundInfo, 3> rounds_;

  CodeRange codes_range_;
  std::size_t elements_ = 0;  ///< of the vector

  // Of the call in flight.
  CallBuffers call_;
  kernels::ThcDraws draws_;
  std::vector<std::uint32_t> codes_;         ///< of one piece
  std::vector<std::uint32_t> vector_codes_;  ///< scale=global: of all blocks, in block order
  std::vector<const std::uint64_t*> contribution_words_;  ///< of one call of widen()
  EscapeRound escape_;
};

std::size_t ThcCodec::capacity(int round, Form form, std::size_t elements) const {
  switch (round) {
    case norms_round:
      return options_.global_scale ? (elements != 0) : (blocks_of(elements) + 1) / 2;
    case payload_round_index:
      return words_of_run(elements, block(),
                          form == Form::narrow ? format_.narrow_width : format_.wide_width);
    default: return escape_.capacity(elements);
  }
}

/// Codes and scales of small blocks, and where blocks that have no room in shared memory turn:
/// those of the piece, as many as have room at a time, and what is ragged.
std::size_t ThcCodec::device_scratch(std::size_t, std::size_t longest_piece) const {
  const std::size_t codes = (blocks_of(longest_piece) + 1) * (sizeof(std::uint32_t) + 16);
  if (block() <= kernels::thc_shared_span) return codes;
  constexpr std::size_t value = sizeof(double) + sizeof(std::uint16_t);
  const std::size_t turning = std::max(kernels::thc_most_scratch, block() * value);
  return codes + std::min(turning, (longest_piece + block()) * value) + block() * value;
}

std::size_t ThcCodec::state_bytes(std::size_t elements) const {
  return options_.error_feedback ? elements * feedback_size(type_) : 0;
}

void ThcCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  elements_ = elements;
  codes_.reserve(blocks_of(longest_piece));
  if (options_.global_scale) vector_codes_.resize(blocks_of(elements));
  contribution_words_.reserve(format_.ranks);
}

void ThcCodec::begin(const CallBuffers& call) {
  using kernels::body::key;
  using kernels::body::Stream;
  call_ = call;
  const std::uint32_t dither_rank = format_.dither == Dither::correlated ? 0 : rank_;
  draws_ = {key(options_.seed, call.step, Stream::signs, 0),
            key(options_.seed, call.step, Stream::dither, dither_rank),
            key(options_.seed, call.step, Stream::permutation, 0)};
  escape_.blocks().clear();
}

std::size_t ThcCodec::encode_norms(const Piece& piece, const Agreed& agreed, Words out) {
  codes_.resize(blocks_of(piece.count));
  kernels_.thc.measure(format_, run_of(piece), call_.input_at(piece.first),
                       call_.feedback_at(piece.first), codes_.data());
  if (!options_.global_scale) {
    for (std::size_t i = 0; i < codes_.size(); i += 2)
      out[i / 2] = codes_[i] | (i + 1 < codes_.size() ? std::uint64_t{codes_[i + 1]} << 32 : 0);
    return (codes_.size() + 1) / 2;
  }
  // Pieces come segment by segment, so the codes are put in block order before they are summed.
  std::ranges::copy(codes_, vector_codes_.begin() + std::ptrdiff_t(piece.first / block()));
  if (piece.index + 1 != agreed.pieces().size()) return 1;
  out[0] = global_code(type_, vector_codes_, elements_);
  if (clipped_by_global(type_, std::ranges::max(vector_codes_), static_cast<std::uint32_t>(out[0]),
                        block()))
    warn_once(
        "thc: scale=global clips blocks whose norm is twice the average and more, as this vector "
        "has; take scale=block, or a larger rotation");
  return 1;
}

/// A code that is none makes a scale that is no number.
void ThcCodec::check(std::uint32_t code) const {
  if (code == 0 || code == escaped_code) return;
  if (code < codes_range_.least || code > codes_range_.most)
    refuse_agreed("thc", "norms", code,
                  "0, " + std::to_string(codes_range_.least) + " to " +
                      std::to_string(codes_range_.most) + ", or " + std::to_string(escaped_code));
}

/// The scale of every block of a piece; valid until the next call.
std::span<const std::uint32_t> ThcCodec::agreed_codes(const Piece& piece, const Agreed& agreed) {
  const ConstWords words = agreed.words(norms_round, piece);
  codes_.resize(blocks_of(piece.count));
  if (options_.global_scale) {
    const auto code = static_cast<std::uint32_t>(words[0]);
    check(code);
    std::ranges::fill(codes_, block_code_of_global(type_, code, block()));
    if (const std::size_t ragged = piece.count % block(); ragged != 0)
      codes_.back() = block_code_of_global(type_, code, padded_block(ragged));
  } else {
    for (std::size_t i = 0; i < codes_.size(); ++i)
      codes_[i] = static_cast<std::uint32_t>(words[i / 2] >> (i % 2 * 32));
    for (const std::uint32_t code : codes_) check(code);
  }
  return codes_;
}

std::size_t ThcCodec::late_elements(int, const Agreed& agreed) {
  EscapedBlocks& escaped = escape_.blocks();
  escaped.clear();
  for (const Piece& piece : agreed.pieces()) {
    const auto codes = agreed_codes(piece, agreed);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] != escaped_code) continue;
      const std::size_t offset = i * block();
      escaped.add(piece.first + offset, std::min(block(), piece.count - offset));
    }
  }
  return escaped.finish();
}

std::size_t ThcCodec::encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                             Words out) {
  const std::size_t words = capacity(round, form, piece.count);
  if (round == norms_round) return encode_norms(piece, agreed, out);
  if (round == payload_round_index) {
    kernels_.thc.encode(format_, draws_, run_of(piece), call_.input_at(piece.first),
                        call_.feedback_at(piece.first), agreed_codes(piece, agreed).data(), form,
                        out.data());
    return words;
  }
  return escape_.encode(piece, call_.input, call_.feedback_at(0), out);
}

std::size_t ThcCodec::widen(int round, const Piece& piece, const Agreed&,
                            std::span<const ConstWords> contributions, Words sum) {
  if (round == escape_round) return escape_.add(piece, contributions, sum);
  contribution_words_.clear();
  for (ConstWords words : contributions) contribution_words_.push_back(words.data());
  kernels_.thc.widen(format_, run_of(piece), contribution_words_.data(), contributions.size(),
                     sum.data());
  return capacity(round, Form::wide, piece.count);
}

std::optional<Widening> ThcCodec::widening(int round) const {
  Widening widening{.narrow_width = static_cast<std::uint8_t>(format_.narrow_width),
                    .wide_width = static_cast<std::uint8_t>(format_.wide_width),
                    .has_levels = format_.table,
                    .block = format_.rotation};
  if (round != payload_round_index || format_.narrow_width == format_.wide_width)
    return std::nullopt;
  if (!format_.table) return widening;
  // Larger tables have no place in a message's header.
  if (format_.levels.size() > widening.levels.size() || format_.levels.back() > 255)
    return std::nullopt;
  std::ranges::copy(format_.levels, widening.levels.begin());
  return widening;
}

void ThcCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                      std::size_t contributions) {
  if (round == payload_round_index) {
    kernels_.thc.decode(format_, draws_, run_of(piece), sum.data(), contributions,
                        agreed_codes(piece, agreed).data(), divisor_, call_.output_at(piece.first));
    return;
  }
  escape_.decode(piece, sum, call_.output);
}

}  // namespace

std::unique_ptr<Codec> make_thc(const CodecContext& context) {
  const auto options =
      parse_thc_options(context.parameters, static_cast<std::uint32_t>(context.ranks));
  return std::make_unique<ThcCodec>(context, options);
}

}  // namespace cohom
