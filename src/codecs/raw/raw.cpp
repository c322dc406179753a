#include "codecs/raw/raw.hpp"

namespace cohom {
namespace {

class RawCodec final : public Codec {
 public:
  explicit RawCodec(const CodecContext& context)
      : type_(context.type),
        divisor_(context.divisor),
        kernels_(context.kernels),
        memory_(context.memory) {
    round_.identity_decode = divisor_ == 1;
  }

  [[nodiscard]] std::size_t block() const override { return 256; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return {&round_, 1}; }
  [[nodiscard]] int payload_round() const override { return 0; }

  [[nodiscard]] std::size_t capacity(int, Form, std::size_t elements) const override {
    return (elements * size_of(type_) + 7) / 8;
  }

  void begin(const CallBuffers& call) override { call_ = call; }

  std::size_t encode(int round, Form form, const Piece& piece, const Agreed&, Words out) override {
    const std::size_t words = capacity(round, form, piece.count);
    copy_to_words(memory_, out.first(words), call_.input_at(piece.first),
                  piece.count * size_of(type_));
    return words;
  }

  void decode(int, const Piece& piece, const Agreed&, ConstWords sum, std::size_t) override {
    kernels_.finish_elements(type_, sum.data(), piece.count, divisor_,
                             call_.output_at(piece.first));
  }

 private:
  ElementType type_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  RoundInfo round_{.name = "payload",
                   .merge = {MergeKind::add_float, type_},
                   .scope = RoundScope::piece,
                   .identity_encode = true};
  CallBuffers call_;
};

}  // namespace

std::span<const ParameterInfo> raw_parameters() { return {}; }

std::unique_ptr<Codec> make_raw(const CodecContext& context) {
  const ParameterReader reader("raw", raw_parameters(), context.parameters);
  return std::make_unique<RawCodec>(context);
}

}  // namespace cohom
