#include "codecs/common/block_scale.hpp"

namespace cohom {

std::size_t put_halves(std::span<const std::uint32_t> numbers, Payload out) {
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    out[i / 2] = numbers[i] | (i + 1 < numbers.size() ? std::uint64_t{numbers[i + 1]} << 32 : 0);
  return (numbers.size() + 1) / 2;
}

std::size_t BlockCodes::encode(std::size_t, const Piece& piece, Payload out) {
  auto& codes = codes_.mine();
  codes.resize(blocks_of(piece.count));
  measure(piece, codes);
  return put_halves(codes, out);
}

std::span<const std::uint32_t> BlockCodes::codes(const Piece& piece) {
  const ConstPayload words = agreed(piece);
  auto& codes = codes_.mine();
  codes.resize(blocks_of(piece.count));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = half_of(words, i);
  for (const std::uint32_t code : codes) check(code);
  return codes;
}

}  // namespace cohom
