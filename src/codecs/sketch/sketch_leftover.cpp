#include "codecs/sketch/sketch_leftover.hpp"

#include "kernels/sketch/integer_sketch.hpp"
#include "kernels/sparse/sparse.hpp"

#include <bit>
#include <numeric>

namespace cohom {

SketchLeftover::SketchLeftover(const CodecContext& context, const SketchCells& cells,
                               const CallBuffers& call)
    : Round({.name = "leftover",
             .merge = cells.merge(),
             .time = RoundTime::behind_payload,
             .scope = RoundScope::late,
             .late_size = LateSize::when_payload_decoded,
             .algorithm = RoundAlgorithm::direct}),
      type_(context.type),
      kernels_(context.kernels),
      host_(context.on_host()),
      memory_(context.memory),
      cells_(cells),
      call_(call) {}

void SketchLeftover::reserve(std::size_t longest_piece) {
  if (!memory_.is_host()) seen_.resize(longest_piece);
}

void SketchLeftover::add(const SketchCells::Place& place, const std::uint8_t* known,
                         ConstWords escapes) {
  if (!memory_.is_host()) {
    memory_.to_host(seen_.data(), known, place.positions.elements);
    known = seen_.data();
  }
  const auto escaped = [&](std::size_t block) {
    return (escapes[block / 64] >> block % 64 & 1) != 0;
  };
  std::size_t i = 0, first = 0, count = 0;  // of neighbours
  for (std::size_t w = 0; w < kernels::bitmap_words(place.piece.count); ++w)
    for (std::uint64_t left = place.positions.bits[w]; left != 0; left &= left - 1, ++i) {
      if (known[i] != 0 || escaped(64 * w / kernels::sketch_block)) continue;
      const std::size_t position =
          place.piece.first + 64 * w + static_cast<std::size_t>(std::countr_zero(left));
      if (position != first + count) {
        if (count != 0) blocks_.add(first, count);
        first = position;
        count = 0;
      }
      ++count;
    }
  if (count != 0) blocks_.add(first, count);
}

std::size_t SketchLeftover::late_elements() {
  const std::size_t count = blocks_.finish();
  positions_.resize(count);
  elements_.resize(count * size_of(type_));
  return count;
}

void SketchLeftover::find(const Piece& piece) {
  blocks_.for_each_block_of(piece, [&](std::size_t i, std::size_t position, std::size_t count) {
    std::iota(positions_.data() + i, positions_.data() + i + count, position);
  });
}

std::size_t SketchLeftover::encode(std::size_t, const Piece& piece, Words out) {
  find(piece);
  const std::size_t words = cells_.words_of_cells(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  kernels_.sketch.gather(size_of(type_), call_.input, positions_.data(), piece.count,
                         elements_.data());
  cells_.to_cells(elements_.data(), piece.count, out.data());
  return words;
}

void SketchLeftover::decode(const Piece& piece, ConstWords sum, std::size_t) {
  find(piece);
  cells_.from_cells(sum.data(), piece.count, elements_.data());
  host_.finish_elements(type_, elements_.data(), piece.count, cells_.divisor_left(),
                        elements_.data());
  kernels_.sketch.scatter(size_of(type_), elements_.data(), positions_.data(), piece.count,
                          call_.output);
}

}  // namespace cohom
