#include "codecs/common/block_scale.hpp"

namespace cohom {

std::size_t put_halves(std::span<const std::uint32_t> numbers, Payload out) {
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    out[i / 2] = numbers[i] | (i + 1 < numbers.size() ? std::uint64_t{numbers[i + 1]} << 32 : 0);
  return (numbers.size() + 1) / 2;
}

std::size_t BlockCodes::encode(std::size_t, const Piece& piece, Payload out) {
  codes_.resize(blocks_of(piece.count));
  measure(piece, codes_);
  return put_halves(codes_, out);
}

std::span<const std::uint32_t> BlockCodes::codes(const Piece& piece) {
  const ConstPayload words = agreed(piece);
  codes_.resize(blocks_of(piece.count));
  for (std::size_t i = 0; i < codes_.size(); ++i) codes_[i] = half_of(words, i);
  for (const std::uint32_t code : codes_) check(code);
  return codes_;
}

}  // namespace cohom
