#pragma once
// OutlierBlocks: the blocks that left the payload because some rank holds a NaN or an infinity in
// them, and the compacted vector that they form for the outlier round.

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cohom {

class OutlierBlocks {
 public:
  /// `workers`: CodecContext's.
  explicit OutlierBlocks(std::size_t workers = 0) : added_(workers) {}

  void clear() {
    blocks_.clear();
    added_.for_each([](auto& added) { added.clear(); });
  }

  /// In any order: pieces are listed segment by segment, not along the vector. In any thread.
  void add(std::size_t first, std::size_t count) { added_.mine().push_back({first, count, 0}); }

  /// Puts the blocks in the vector's order, neighbours together; returns the elements of the
  /// compacted vector.
  std::size_t sort() {
    added_.for_each([&](auto& added) {
      blocks_.insert(blocks_.end(), added.begin(), added.end());
      added.clear();
    });
    std::ranges::sort(blocks_, {}, &Block::first);
    std::size_t elements = 0, runs = 0;
    for (const Block& block : blocks_) {
      if (runs != 0 && blocks_[runs - 1].first + blocks_[runs - 1].count == block.first)
        blocks_[runs - 1].count += block.count;
      else
        blocks_[runs++] = {block.first, block.count, elements};
      elements += block.count;
    }
    blocks_.resize(runs);
    return elements;
  }

  /// For every block of a piece of the compacted vector, or what of it lies in the piece,
  /// visit(elements before it in the piece, its first element in the user's vector, its elements).
  template <class Visit>
  void for_each_block_of(const Piece& piece, Visit&& visit) const {
    const std::size_t end = piece.first + piece.count;
    auto block = std::ranges::upper_bound(blocks_, piece.first, {}, &Block::offset);
    if (block != blocks_.begin()) --block;
    for (; block != blocks_.end() && block->offset < end; ++block) {
      const std::size_t from = std::max(block->offset, piece.first);
      const std::size_t to = std::min(block->offset + block->count, end);
      if (from < to) visit(from - piece.first, block->first + (from - block->offset), to - from);
    }
  }

 private:
  struct Block {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t offset = 0;  ///< elements before it in the compacted vector
  };

  PerWorker<std::vector<Block>> added_;
  std::vector<Block> blocks_;
};

}  // namespace cohom
