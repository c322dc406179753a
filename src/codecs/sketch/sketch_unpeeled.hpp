#pragma once
// SketchUnpeeled: the fallback round of elements that did not peel, which travel once more, one a
// cell.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/outlier_blocks.hpp"
#include "codecs/sketch/sketch_cells.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class SketchUnpeeled final : public Round {
 public:
  /// `cells` and `call` outlive it.
  SketchUnpeeled(const CodecContext& context, const SketchCells& cells, const CallBuffers& call);

  void reserve(std::size_t longest_piece);
  void clear() { blocks_.clear(); }

  /// Adds items of a piece's union that are not known, but those of blocks of 256 that
  /// `outlier_bits` names.
  void add(const SketchCells::PieceUnion& part, const std::uint8_t* known,
           ConstPayload outlier_bits);

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return cells_.words_of_cells(elements);
  }
  /// Takes the memory that the elements need.
  std::size_t fallback_elements() override;
  /// The words are the host's, the elements where the codec's are.
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  void find(const Piece& piece);

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  const SketchCells& cells_;
  const CallBuffers& call_;
  OutlierBlocks blocks_;            ///< neighbours in one block
  std::vector<std::uint8_t> seen_;  ///< what is known, where the host does not see it

  // Of one piece, with room for all: where its elements lie, and the elements.
  std::vector<std::size_t> positions_;
  std::vector<std::byte> elements_;
};

}  // namespace cohom
