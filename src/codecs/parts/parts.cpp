#include "codecs/parts/parts.hpp"

#include "codecs/parts/lone_vector.hpp"

#include <utility>

namespace cohom {
namespace {

class PartsPayload final : public Round {
 public:
  PartsPayload(LoneVector& own, LoneVector& others, const CallBuffers& call)
      : Round({.name = "part",
               .merge = {MergeKind::bit_or},
               .time = RoundTime::payload,
               .length = PayloadLength::varying}),
        own_(own),
        others_(others),
        call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return own_.capacity(elements);
  }
  std::size_t encode(std::size_t, const Piece& piece, Payload out) override {
    return own_.encode(call_.input_at(piece.first), call_.step, out);
  }
  /// This rank's own part, too: its elements are those that others get.
  void decode(const Piece& piece, ConstPayload words, std::size_t) override {
    others_.decode(words, call_.step, call_.output_at(piece.first));
  }

 private:
  LoneVector& own_;
  LoneVector& others_;
  const CallBuffers& call_;
};

class PartsCodec final : public Codec {
 public:
  PartsCodec(std::unique_ptr<Codec> own, std::unique_ptr<Codec> others, std::size_t elements,
             ElementType type)
      : own_(std::move(own), elements, type),
        others_(std::move(others), elements, type),
        payload_(own_, others_, call_) {
    add(payload_);
  }

  /// Parts begin anywhere.
  [[nodiscard]] std::size_t block() const override { return 1; }
  void reserve(std::size_t, std::size_t) override {
    own_.reserve(true);
    others_.reserve(false);
  }

 private:
  LoneVector own_, others_;
  PartsPayload payload_;
};

}  // namespace

std::unique_ptr<Codec> make_parts_codec(std::unique_ptr<Codec> own, std::unique_ptr<Codec> others,
                                        std::size_t elements, ElementType type) {
  return std::make_unique<PartsCodec>(std::move(own), std::move(others), elements, type);
}

}  // namespace cohom
