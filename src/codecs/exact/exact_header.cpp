#include "codecs/exact/exact_header.hpp"

#include "codecs/common/agreed_value.hpp"
#include "codecs/exact/exact_accumulator.hpp"

namespace cohom {

ExactHeaderRound::ExactHeaderRound(const CodecContext& context, const CallBuffers& call)
    : Round({.name = "header",
             .merge = {context.type == ElementType::f64 ? MergeKind::max16 : MergeKind::max8},
             .algorithm = RoundAlgorithm::as_payload}),
      type_(context.type),
      ranks_(static_cast<std::size_t>(context.ranks)),
      kernels_(context.kernels.exact),
      call_(call) {}

std::size_t ExactHeaderRound::encode(std::size_t contributions, const Piece& piece, Payload out) {
  if (call_.added != nullptr)
    call_.added->measure(piece.first, piece.count, out.data());
  else
    kernels_.measure(run_of(piece), call_.input_at(piece.first), out.data());
  return capacity(contributions, piece.count);
}

std::size_t ExactHeaderRound::payload_words(std::size_t contributions, const Piece& piece) {
  const Shape shape = shape_of(piece);
  return contributions == ranks_ ? shape.sum_words : shape.narrow_words;
}

ExactHeaderRound::Shape ExactHeaderRound::shape_of(const Piece& piece) {
  {
    const std::lock_guard lock(shapes_mutex_);
    if (shapes_[piece.index].known) return shapes_[piece.index];
  }
  const std::uint64_t* const words = header(piece);
  const auto sum = kernels::exact_length(run_of(piece), room(ranks_), words);
  if (!sum.valid)
    refuse_agreed("exact", "header", words[0],
                  "in each mini-block a code of the highest bit and one of a bit below it, or two "
                  "zeros");
  const auto narrow = kernels::exact_length(run_of(piece), room(1), words);
  // Another thread may have found the same meanwhile.
  const Shape shape{true, sum.words, narrow.words, sum.wide_minis};
  const std::lock_guard lock(shapes_mutex_);
  shapes_[piece.index] = shape;
  return shape;
}

}  // namespace cohom
