#include "codecs/packed/packed.hpp"

#include "codecs/common/dither.hpp"
#include "codecs/common/escape_round.hpp"
#include "codecs/packed/packed_agreement.hpp"
#include "codecs/packed/packed_options.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/packed.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace cohom {
namespace {

using kernels::Dither;
using kernels::packed_mini;

/// Steps below this are no normal numbers of f32 arithmetic, or their inverses are none.
constexpr double least_f32_step = 0x1p-100;

std::vector<RoundInfo> make_rounds(const PackedOptions& options, ElementType type) {
  std::vector<RoundInfo> rounds = PackedAgreement::rounds(options);
  rounds.push_back({.name = "payload",
                    .merge = {MergeKind::add_packed},
                    .varies = true,
                    .finishes = options.down_shift != 0});
  rounds.push_back(EscapeRound::info(type));
  rounds.back().after_payload = true;
  return rounds;
}

class PackedCodec final : public Codec {
 public:
  PackedCodec(const CodecContext& context, const PackedOptions& options)
      : type_(context.type),
        rank_(static_cast<std::uint32_t>(context.rank)),
        ranks_(context.ranks),
        divisor_(context.divisor),
        kernels_(context.kernels),
        options_(options),
        rounds_(make_rounds(options, type_)),
        payload_(static_cast<int>(rounds_.size()) - 2),
        escape_(context),
        agreement_(context, options, limit()),
        offsets_(correlated_offsets(rank_, static_cast<std::uint32_t>(context.ranks))) {}

  [[nodiscard]] std::size_t block() const override { return kernels::packed_group; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return payload_; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override;
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return options_.error_feedback ? elements * feedback_size(type_) : 0;
  }

  void reserve(std::size_t elements, std::size_t longest_piece) override;
  [[nodiscard]] std::size_t device_scratch(std::size_t elements,
                                           std::size_t longest_piece) const override;
  void begin(const CallBuffers& call) override;
  std::size_t late_elements(int round, const Agreed& agreed) override;
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t widen(int, const Piece& piece, const Agreed&,
                    std::span<const ConstWords> contributions, Words sum) override {
    return escape_.add(piece, contributions, sum);
  }
  std::size_t finish(int round, const Piece& piece, Words sum, std::size_t words) override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::PackedRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  /// No integer of a rank may exceed this, so that sums stay in range; a power of two.
  [[nodiscard]] std::uint32_t limit() const {
    const std::uint32_t range = kernels::packed_range >> (options_.differences ? 1 : 0);
    return std::bit_floor(range / static_cast<std::uint32_t>(ranks_));
  }
  void find_step(const Piece& piece, const Agreed& agreed);

  ElementType type_;
  std::uint32_t rank_;
  int ranks_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  PackedOptions options_;
  std::vector<RoundInfo> rounds_;
  int payload_;
  EscapeRound escape_;
  PackedAgreement agreement_;
  std::vector<std::uint8_t> offsets_;
  std::vector<std::uint32_t> escaped_;  ///< of one piece, by group

  // Of the call in flight.
  CallBuffers call_;
  kernels::PackedQuantizer quantizer_;
  bool step_known_ = false;
};

std::size_t PackedCodec::capacity(int round, Form, std::size_t elements) const {
  if (round == payload_) return kernels::packed_capacity(elements, options_.differences);
  if (round > payload_) return escape_.capacity(elements);
  return agreement_.capacity(round, elements);
}

void PackedCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  const std::size_t minis = elements / packed_mini + 1;
  if (minis > std::numeric_limits<std::uint32_t>::max() / static_cast<std::size_t>(ranks_))
    throw Error(ErrorKind::unsupported, "packed: the histogram of " + std::to_string(elements) +
                                            " elements on " + std::to_string(ranks_) +
                                            " ranks overflows; reduce the vector in parts");
  escaped_.resize(kernels::packed_groups(longest_piece));
  agreement_.reserve(elements);
}

/// The sample's mini-blocks, or the offsets of all payloads that are merged with a sum's, and what
/// owners round off in place.
std::size_t PackedCodec::device_scratch(std::size_t elements, std::size_t longest_piece) const {
  const std::size_t groups = kernels::packed_groups(longest_piece) + 2;
  const std::size_t offsets = (static_cast<std::size_t>(ranks_) + 1) * groups * 8;
  const std::size_t shifted =
      options_.down_shift == 0 ? 0 : 8 * capacity(payload_, Form::wide, longest_piece);
  return std::max(agreement_.device_scratch(elements), offsets + shifted);
}

void PackedCodec::begin(const CallBuffers& call) {
  using kernels::body::key;
  using kernels::body::Stream;
  call_ = call;
  const std::uint32_t dither_rank = options_.dither == Dither::independent ? rank_ : 0;
  quantizer_ = {.in_f64 = options_.bounded(),
                .drops_small = !options_.bounded(),
                .differences = options_.differences,
                .limit = static_cast<double>(limit() - 1),
                .dither = options_.dither,
                .dither_key = key(options_.seed, call.step, Stream::dither, dither_rank),
                .permutation_key = key(options_.seed, call.step, Stream::permutation, 0),
                .dither_offsets = offsets_};
  step_known_ = false;
  agreement_.begin(call);
  escape_.blocks().clear();
}

void PackedCodec::find_step(const Piece& piece, const Agreed& agreed) {
  if (std::exchange(step_known_, true)) return;
  // So that the largest numbers do not become infinite when they are rounded, and by shifted steps.
  const int most = (type_ == ElementType::f64 ? 1014 : 118) - static_cast<int>(options_.down_shift);
  quantizer_.step = std::min(agreement_.step(piece, agreed), std::ldexp(1.0, most));
  if (type_ == ElementType::f64 || quantizer_.step < least_f32_step) quantizer_.in_f64 = true;
}

std::size_t PackedCodec::encode(int round, Form, const Piece& piece, const Agreed& agreed,
                                Words out) {
  if (round < payload_) return agreement_.encode(round, piece, agreed, out);
  if (round > payload_) return escape_.encode_input(piece, call_.input, call_.feedback_at(0), out);
  find_step(piece, agreed);
  return kernels_.packed.encode(quantizer_, run_of(piece), call_.input_at(piece.first),
                                call_.feedback_at(piece.first), out.data());
}

std::size_t PackedCodec::finish(int, const Piece& piece, Words sum, std::size_t words) {
  const std::size_t left = kernels_.packed.shift(kernels::packed_groups(piece.count),
                                                 sum.first(words), options_.down_shift, sum.data());
  if (left == 0) throw Error(ErrorKind::transport, "packed: a sum does not fit its headers");
  return left;
}

void PackedCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                         std::size_t) {
  if (round > payload_) return escape_.decode(piece, sum, call_.output);
  find_step(piece, agreed);
  const double step = ranks_ == 1
                          ? quantizer_.step
                          : quantizer_.step * static_cast<double>(1u << options_.down_shift);
  if (!kernels_.packed.decode(run_of(piece), sum, step, quantizer_.in_f64, divisor_,
                              escaped_.data(),
                              static_cast<std::byte*>(call_.output) + piece.first * size_of(type_)))
    throw Error(ErrorKind::transport, "packed: a sum arrived that does not fit its headers");
  for (std::size_t g = 0; g < kernels::packed_groups(piece.count); ++g)
    for (std::uint32_t left = escaped_[g]; left != 0; left &= left - 1) {
      const std::size_t first =
          g * kernels::packed_group + std::size_t(std::countr_zero(left)) * packed_mini;
      if (first >= piece.count) break;  // predict=delta: groups escape whole
      escape_.blocks().add(piece.first + first, std::min(packed_mini, piece.count - first));
    }
}

std::size_t PackedCodec::late_elements(int, const Agreed&) { return escape_.blocks().finish(); }

}  // namespace

std::unique_ptr<Codec> make_packed(const CodecContext& context) {
  const auto options =
      parse_packed_options(context.parameters, static_cast<std::uint32_t>(context.ranks));
  return std::make_unique<PackedCodec>(context, options);
}

}  // namespace cohom
