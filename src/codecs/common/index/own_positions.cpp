#include "codecs/common/index/own_positions.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

using kernels::bitmap_words;

OwnPositions::OwnPositions(const CodecContext& context, const CallBuffers& call,
                           std::function<void()> before_scan)
    : type_(context.type),
      kernels_(context.kernels),
      memory_(context.memory),
      call_(call),
      before_scan_(std::move(before_scan)) {}

void OwnPositions::reserve(std::size_t elements, std::size_t longest_piece) {
  own_.resize(bitmap_words(elements));
  held_.resize(elements / 256 + 1);
  if (!memory_.is_host()) beside_elements_ = {memory_, bitmap_words(longest_piece)};
}

void OwnPositions::start() { std::ranges::fill(held_, Held::nothing); }

void OwnPositions::scan(const Piece& piece) {
  if (held(piece) != Held::nothing) return;
  held(piece) = Held::own_bits;
  if (before_scan_) before_scan_();
  const kernels::SparseRun run{size_of(type_), piece.first, piece.count};
  const bool apart = !memory_.is_host();
  std::uint64_t* const found = apart ? beside_elements_.data() : bits(piece);
  kernels_.sparse.scan(run, call_.input_at(piece.first), found);
  if (apart) memory_.to_host(bits(piece), found, bitmap_words(piece.count) * 8);
}

bool OwnPositions::becomes_union(const Piece& piece) {
  return std::exchange(held(piece), Held::union_of_all) != Held::union_of_all;
}

const std::uint64_t* OwnPositions::beside_elements(const std::uint64_t* bits, const Piece& piece) {
  if (memory_.is_host()) return bits;
  memory_.from_host(beside_elements_.data(), bits, bitmap_words(piece.count) * 8);
  return beside_elements_.data();
}

}  // namespace cohom
