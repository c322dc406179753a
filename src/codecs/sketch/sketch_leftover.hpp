#pragma once
// SketchLeftover: the elements that did not peel, which travel once more, one a cell.

#include "codecs/common/codec_context.hpp"
#include "codecs/common/codec_interface.hpp"
#include "codecs/common/escaped_blocks.hpp"
#include "codecs/sketch/sketch_cells.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class SketchLeftover {
 public:
  /// `cells` outlives it.
  SketchLeftover(const CodecContext& context, const SketchCells& cells);

  void reserve(std::size_t longest_piece);
  void clear() { blocks_.clear(); }

  /// Adds items of a piece's union that are not known, but those of blocks of 256 that `escapes` names.
  void add(const SketchCells::Place& place, const std::uint8_t* known, ConstWords escapes);
  /// How many there are, when all are added. Takes the room that they need, before the round in which they
  /// travel.
  std::size_t finish();

  /// Of a piece of what is left over. The words are the host's, the elements where the codec's are.
  std::size_t encode(const Piece& piece, const void* input, Words out);
  void decode(const Piece& piece, ConstWords sum, void* output);

 private:
  void find(const Piece& piece);

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  const SketchCells& cells_;
  EscapedBlocks blocks_;            ///< neighbours in one block
  std::vector<std::uint8_t> seen_;  ///< what is known, where the host does not see it

  // Of one piece, with room for all: where its elements lie, and the elements.
  std::vector<std::size_t> positions_;
  std::vector<std::byte> elements_;
};

}  // namespace cohom
