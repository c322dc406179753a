#pragma once
// The round in which ranks agree on the highest and the lowest bit of every mini-block.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "kernels/exact/exact.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace cohom {

class ExactHeaderRound final : public Round {
 public:
  /// `call`: the codec's.
  ExactHeaderRound(const CodecContext& context, const CallBuffers& call);

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return kernels::exact_header_words(type_, elements);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Of a call.
  void start() { shapes_.assign(call_.pieces.size(), {}); }

  /// What was agreed on.
  [[nodiscard]] const std::uint64_t* header(const Piece& piece) const {
    return agreed(piece).data();
  }
  /// Words of a piece's payload with room for all ranks' contributions, or for one.
  /// @throws Error(transport) for a header that no ranks can have sent
  std::size_t payload_words(std::size_t contributions, const Piece& piece);
  /// Mini-blocks of a piece that are not in the payload.
  std::size_t wide_minis(const Piece& piece) { return shape_of(piece).wide_minis; }

  [[nodiscard]] kernels::ExactRun run_of(const Piece& piece) const { return {type_, piece.count}; }
  [[nodiscard]] kernels::ExactRoom room(std::size_t contributions) const {
    return {ranks_, contributions};
  }

 private:
  struct Shape {
    bool known = false;
    std::size_t sum_words = 0, narrow_words = 0, wide_minis = 0;
  };
  Shape shape_of(const Piece& piece);

  ElementType type_;
  std::size_t ranks_;
  const kernels::ExactKernels& kernels_;
  const CallBuffers& call_;
  std::mutex shapes_mutex_;
  std::vector<Shape> shapes_;  ///< of the call's pieces, as they are asked for
};

}  // namespace cohom
