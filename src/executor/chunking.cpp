#include "executor/chunking.hpp"

#include <algorithm>

namespace cohom {

Chunking::Chunking(std::size_t elements, std::size_t block, std::size_t chunks,
                   std::size_t segment_elements)
    : elements_(elements), pieces_of_chunk_(chunks) {
  const std::size_t blocks = elements / block + (elements % block != 0);
  const std::size_t segment_blocks =
      std::max<std::size_t>(1, segment_elements / block + (segment_elements % block != 0));
  // Chunk c has base or base + 1 blocks; the longer ones come first.
  const std::size_t base = blocks / chunks;
  const std::size_t longer = blocks % chunks;
  const auto first_block = [&](std::size_t chunk) {
    return chunk * base + std::min(chunk, longer);
  };
  const std::size_t longest = base + (longer != 0);
  const std::size_t numbers = (longest + segment_blocks - 1) / segment_blocks;

  first_of_piece_number_.push_back(0);
  for (std::size_t number = 0; number < numbers; ++number) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const std::size_t end_block = first_block(chunk + 1);
      const std::size_t begin = std::min(first_block(chunk) + number * segment_blocks, end_block);
      const std::size_t end = std::min(begin + segment_blocks, end_block);
      if (begin == end) continue;
      const std::size_t first = begin * block;
      pieces_of_chunk_[chunk].push_back(pieces_.size());
      pieces_.push_back({first, std::min(end * block, elements) - first, pieces_.size()});
    }
    first_of_piece_number_.push_back(pieces_.size());
  }
}

std::size_t Chunking::longest_piece() const {
  std::size_t longest = 0;
  for (const Piece& piece : pieces_) longest = std::max(longest, piece.count);
  return longest;
}

}  // namespace cohom
