#pragma once
// SparseIndex: the rounds that agree on which elements are not zero on any rank, for codecs that send
// those alone. The wire is specified in docs/wire-format.md, "sparse".
//
// flat: round `index`, a bit an element. two_level: round `blocks` first, two bits a block of 512
// elements, by which some rank says that it has values there, or so many that naming them would take
// more than it saves: then all of the block counts as the union's. Round `index` has the bits of the
// blocks with values only. Zero is tested on the bits of an element, so -0.0 is a value.

#include "codec_interface.hpp"
#include "codecs/codec_context.hpp"
#include "kernels/sparse.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

enum class IndexForm : std::uint8_t { two_level, flat };

class SparseIndex {
 public:
  /// Elements of a block of the upper level. They are counted from a piece's first element on.
  static constexpr std::size_t block = 512;

  /// The agreed positions of one piece.
  struct Union {
    const std::uint64_t* bits = nullptr;  ///< bitmap_words(elements of the piece)
    std::size_t elements = 0;             ///< that are in the union
  };

  SparseIndex(const CodecContext& context, IndexForm form);

  /// These come first in the codec's list, in this order.
  [[nodiscard]] std::span<const RoundInfo> rounds() const;
  [[nodiscard]] std::size_t capacity(int round, std::size_t elements) const;

  // As the codec's functions of these names. Pieces start at multiples of 64 elements.
  void reserve(std::size_t elements, std::size_t longest_piece);
  void begin(const CallBuffers& call) { call_ = call; }
  std::size_t encode(int round, const Piece& piece, const Agreed& agreed, Words out);

  /// Valid until the next call of it.
  /// @throws Error(transport) when an index arrived that is none of this piece.
  [[nodiscard]] Union union_of(const Piece& piece, const Agreed& agreed);

 private:
  /// What the upper level says of a block.
  enum Level : std::uint64_t { has_values = 1, is_full = 2 };

  [[nodiscard]] int lower_round() const { return form_ == IndexForm::two_level ? 1 : 0; }
  [[nodiscard]] std::uint64_t* own_bits(const Piece& piece) {
    return own_.data() + piece.first / 64;
  }
  std::size_t encode_blocks(const Piece& piece, Words out);
  [[nodiscard]] ConstWords spread(const Piece& piece, const Agreed& agreed);

  ElementType type_;
  const kernels::KernelTable& kernels_;
  IndexForm form_;
  RoundInfo rounds_[2];
  CallBuffers call_;
  std::vector<std::uint64_t> own_;  ///< this rank's bits of the vector, written in the first round
  std::vector<std::uint64_t> union_;  ///< of one piece
};

}  // namespace cohom
