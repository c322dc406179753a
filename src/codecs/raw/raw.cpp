#include "codecs/raw/raw.hpp"

#include "codecs/common/codec.hpp"
#include "codecs/common/nmse.hpp"

#include <algorithm>
#include <optional>

namespace cohom {
namespace {

class RawPayload final : public Round {
 public:
  RawPayload(const CodecContext& context, const CallBuffers& call)
      : Round({.name = "payload",
               .merge = {MergeKind::add_float, context.type},
               .time = RoundTime::payload,
               .identity =
                   context.divisor == 1 ? Identity::encoding_and_decoding : Identity::encoding}),
        divisor_(context.divisor),
        kernels_(context.kernels),
        memory_(context.memory),
        type_(context.type),
        call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (elements * size_of(type_) + 7) / 8;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override {
    const std::size_t words = capacity(contributions, piece.count);
    copy_to_words(memory_, out.first(words), call_.input_at(piece.first),
                  piece.count * size_of(type_));
    return words;
  }
  void decode(const Piece& piece, ConstPayload sum, std::size_t) override {
    kernels_.finish_elements(type_, sum.data(), piece.count, divisor_,
                             call_.output_at(piece.first));
  }

 private:
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  ElementType type_;
  const CallBuffers& call_;
};

class RawCodec final : public Codec {
 public:
  explicit RawCodec(const CodecContext& context) : payload_(context, call_) { add(payload_); }

  [[nodiscard]] std::size_t block() const override { return 256; }

 private:
  RawPayload payload_;
};

/// Each addition rounds, of n - 1 that an element goes through.
std::optional<KeepingNmse> raw_keeping_nmse(double nmse, const BytesQuery& query) {
  if (nmse < std::max(1, query.ranks - 1) * nmse_of_rounding(query.type)) return std::nullopt;
  const Parameters none;
  const auto bytes = bytes_of_rounds(
      make_raw,
      {.parameters = none, .elements = query.elements, .type = query.type, .ranks = query.ranks});
  if (!bytes) return std::nullopt;
  return KeepingNmse{.parameters = {}, .bytes = *bytes};
}

constexpr CodecSample samples[] = {{.spec = "raw"}};

}  // namespace

std::span<const ParameterInfo> raw_parameters() { return {}; }

std::unique_ptr<Codec> make_raw(const CodecContext& context) {
  const ParameterReader reader("raw", raw_parameters(), context.parameters);
  return std::make_unique<RawCodec>(context);
}

const CodecRow& raw_codec() {
  static const CodecRow row{
      .info = {"raw", "the vector itself: baseline, exact up to the order of additions",
               raw_parameters()},
      .make = make_raw,
      .device = {.has_kernels = [](const kernels::KernelTable&) { return true; }},
      .samples = samples,
      .in_workers = true,
      .decodes_parts = true,
      .keeping_nmse = raw_keeping_nmse,
  };
  return row;
}

}  // namespace cohom
