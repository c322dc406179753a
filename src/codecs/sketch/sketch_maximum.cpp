#include "codecs/sketch/sketch_maximum.hpp"

#include "codecs/common/agreed_value.hpp"
#include "kernels/core/body/float_bits.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace cohom {
namespace {

/// Makes exponents of elements positive numbers; 0 is a rank of zeros.
constexpr int exponent_offset = 1 << 12;
/// Of the least denormal of f32, and of its largest numbers.
constexpr int min_exponent = -149, max_exponent = 127;

}  // namespace

SketchMaximum::SketchMaximum(const CodecContext& context, SketchCells& cells,
                             const CallBuffers& call)
    : Round({.name = "maximum", .merge = {MergeKind::max}, .scope = RoundScope::vector}),
      type_(context.type),
      kernels_(context.kernels),
      memory_(context.memory),
      cells_(cells),
      call_(call),
      exponent_(context.type, static_cast<std::uint32_t>(context.ranks), context.on_host()) {}

void SketchMaximum::reserve(std::size_t elements) {
  elements_ = elements;
  if (memory_.is_host())
    exponent_.reserve(elements);
  else
    found_.resize(elements / kernels::sketch_block + 1);
}

void SketchMaximum::start() {
  own_exponent_ = 0;
  exponent_.begin();
}

void SketchMaximum::tell_cells() const {
  const std::uint64_t maximum = agreed(call_.pieces[0])[0];
  if (maximum != 0 &&
      (maximum < exponent_offset + min_exponent || maximum > exponent_offset + max_exponent))
    refuse_agreed("sketch", "maximum", maximum,
                  "0, or " + std::to_string(exponent_offset + min_exponent) + " to " +
                      std::to_string(exponent_offset + max_exponent));
  // Larger numbers than the bound have no integer.
  if (maximum < static_cast<std::uint64_t>(own_exponent_))
    refuse_agreed("sketch", "maximum", maximum, "this rank alone " + std::to_string(own_exponent_));
  cells_.agree_on(maximum == 0 ? 0 : static_cast<int>(maximum) - exponent_offset);
}

/// For every piece in order, into the same word. On a device the largest number decides.
std::size_t SketchMaximum::encode(std::size_t, const Piece& piece, Payload out) {
  if (memory_.is_host()) {
    exponent_.measure(call_.input_at(piece.first), piece.first, piece.count);
    if (!call_.is_last(piece)) return 1;
    const int best = exponent_.best(call_.input_at(0), elements_);
    own_exponent_ = best == SketchExponent::none ? 0 : best + exponent_offset;
  } else {
    using kernels::body::SketchLargest;
    kernels_.blocks.of<SketchLargest>().measure({}, {type_, piece.count},
                                                call_.input_at(piece.first), found_.data());
    const std::size_t blocks = (piece.count + SketchLargest::block - 1) / SketchLargest::block;
    std::uint32_t largest = 0;
    for (const std::uint32_t of_block : std::span(found_).first(blocks))
      largest = std::max(largest, of_block);
    if (largest != 0)
      own_exponent_ =
          std::max(own_exponent_, kernels::body::floor_log2<float>(largest) + exponent_offset);
  }
  out[0] = static_cast<std::uint64_t>(own_exponent_);
  return 1;
}

}  // namespace cohom
