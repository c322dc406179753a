#pragma once
// EscapedBlocks: the blocks that left the payload because some rank holds a NaN or an infinity in
// them, and the compacted vector that they form for the escape round.

#include "codec_interface.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cohom {

class EscapedBlocks {
 public:
  /// `block`: elements of every block but the vector's last.
  explicit EscapedBlocks(std::size_t block) : block_(block) {}

  void clear() { blocks_.clear(); }

  /// In any order: pieces are listed segment by segment, not along the vector.
  void add(std::size_t first, std::size_t count) { blocks_.push_back({first, count}); }

  /// Puts the blocks in the vector's order; returns the elements of the compacted vector.
  std::size_t finish() {
    std::ranges::sort(blocks_, {}, &Block::first);
    std::size_t elements = 0;
    for (const Block& block : blocks_) elements += block.count;
    return elements;
  }

  /// For every block of a piece of the compacted vector, visit(elements before it in the piece, its
  /// first element in the user's vector, its elements). Only the last block of all can be ragged,
  /// so compacted element i belongs to block number i div block.
  template <class Visit>
  void for_each_block_of(const Piece& piece, Visit&& visit) const {
    std::size_t number = piece.first / block_;
    for (std::size_t offset = 0; offset < piece.count; offset += block_, ++number)
      visit(offset, blocks_[number].first, blocks_[number].count);
  }

 private:
  struct Block {
    std::size_t first;
    std::size_t count;
  };

  std::size_t block_;
  std::vector<Block> blocks_;
};

}  // namespace cohom
