#include "codecs/sketch/sketch_unpeeled.hpp"

#include "kernels/sketch/integer_sketch.hpp"
#include "kernels/sparse/sparse.hpp"

#include <bit>
#include <numeric>

namespace cohom {

SketchUnpeeled::SketchUnpeeled(const CodecContext& context, const SketchCells& cells,
                               const CallBuffers& call)
    : Round({.name = "leftover",
             .merge = cells.merge(),
             .time = RoundTime::behind_payload,
             .scope = RoundScope::fallback,
             .fallback_size = FallbackSize::when_payload_decoded,
             // Sums of floats depend on the order, which is that of ranks by direct.
             .algorithm = cells.are_integers() ? RoundAlgorithm::by_size : RoundAlgorithm::direct}),
      type_(context.type),
      kernels_(context.kernels),
      host_(context.on_host()),
      memory_(context.memory),
      cells_(cells),
      call_(call) {}

void SketchUnpeeled::reserve(std::size_t longest_piece) {
  if (!memory_.is_host()) seen_.resize(longest_piece);
}

void SketchUnpeeled::add(const SketchCells::PieceUnion& part, const std::uint8_t* known,
                         ConstPayload outlier_bits) {
  if (!memory_.is_host()) {
    memory_.to_host(seen_.data(), known, part.positions.elements);
    known = seen_.data();
  }
  const auto is_outlier = [&](std::size_t block) {
    return (outlier_bits[block / 64] >> block % 64 & 1) != 0;
  };
  std::size_t i = 0, first = 0, count = 0;  // of neighbours
  for (std::size_t w = 0; w < kernels::bitmap_words(part.piece.count); ++w)
    for (std::uint64_t left = part.positions.bits[w]; left != 0; left &= left - 1, ++i) {
      if (known[i] != 0 || is_outlier(64 * w / kernels::sketch_block)) continue;
      const std::size_t position =
          part.piece.first + 64 * w + static_cast<std::size_t>(std::countr_zero(left));
      if (position != first + count) {
        if (count != 0) blocks_.add(first, count);
        first = position;
        count = 0;
      }
      ++count;
    }
  if (count != 0) blocks_.add(first, count);
}

std::size_t SketchUnpeeled::fallback_elements() {
  const std::size_t count = blocks_.sort();
  positions_.resize(count);
  elements_.resize(count * size_of(type_));
  return count;
}

void SketchUnpeeled::find(const Piece& piece) {
  blocks_.for_each_block_of(piece, [&](std::size_t i, std::size_t position, std::size_t count) {
    std::iota(positions_.data() + i, positions_.data() + i + count, position);
  });
}

std::size_t SketchUnpeeled::encode(std::size_t, const Piece& piece, Payload out) {
  find(piece);
  const std::size_t words = cells_.words_of_cells(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  kernels_.sketch.gather(size_of(type_), call_.input, positions_.data(), piece.count,
                         elements_.data());
  cells_.to_cells(elements_.data(), piece.count, out.data());
  return words;
}

void SketchUnpeeled::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  find(piece);
  cells_.from_cells(sum.data(), piece.count, elements_.data());
  host_.finish_elements(type_, elements_.data(), piece.count, cells_.divisor_left(),
                        elements_.data());
  kernels_.sketch.scatter(size_of(type_), elements_.data(), positions_.data(), piece.count,
                          call_.output);
}

}  // namespace cohom
