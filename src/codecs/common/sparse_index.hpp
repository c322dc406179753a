#pragma once
// SparseIndex: the rounds that agree on which elements are not zero on any rank, for codecs that send
// those alone. The wire is specified in docs/wire-format.md, "sparse".
//
// flat: round `index`, a bit an element. two_level: round `blocks` first, two bits a block of 512
// elements, by which some rank says that it has values there, or so many that naming them would take
// more than it saves: then all of the block counts as the union's. Round `index` has the bits of the
// blocks with values only. bloom: round `values` first, how many this rank has; round `index`, a Bloom
// filter of the size that their sum needs, or a bit an element where that is less. Zeros that a filter
// takes for values (ghosts) count as the union's. Zero is tested on the bits of an element, so -0.0 is
// a value.

#include "codecs/common/codec_context.hpp"
#include "codecs/common/codec_interface.hpp"
#include "codecs/common/sparse_options.hpp"
#include "kernels/sparse/sparse.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class SparseIndex {
 public:
  /// Elements of a block of the upper level. They are counted from a piece's first element on.
  static constexpr std::size_t block = 512;

  /// The agreed positions of one piece.
  struct Union {
    const std::uint64_t* bits = nullptr;  ///< bitmap_words(elements of the piece), the host's
    std::size_t elements = 0;             ///< that are in the union
  };

  /// `codec`: the name that errors are said with.
  SparseIndex(const CodecContext& context, const IndexOptions& options, std::string_view codec);

  /// These come first in the codec's list, in this order.
  [[nodiscard]] std::span<const RoundInfo> rounds() const;
  [[nodiscard]] std::size_t capacity(int round, std::size_t elements) const;

  // As the codec's functions of these names. Pieces start at multiples of 256 elements.
  void reserve(std::size_t elements, std::size_t longest_piece);
  void begin(const CallBuffers& call);
  std::size_t encode(int round, const Piece& piece, const Agreed& agreed, Words out);

  /// The positions of this rank's own values, before anything is agreed on.
  [[nodiscard]] Union own(const Piece& piece);

  /// Valid until the next call of it.
  /// @throws Error(transport) when an index arrived that is none of this piece.
  [[nodiscard]] Union union_of(const Piece& piece, const Agreed& agreed);

  /// The bits of a piece where its elements lie, for kernels. Valid until the next call of any of these.
  [[nodiscard]] const std::uint64_t* beside_elements(const Union& positions, const Piece& piece);

 private:
  /// What the upper level says of a block.
  enum Level : std::uint64_t { has_values = 1, is_full = 2 };

  /// What own_ holds of a piece.
  enum class Held : std::uint8_t { nothing, own_bits, union_of_all };

  [[nodiscard]] int lower_round() const { return options_.form == IndexForm::flat ? 0 : 1; }
  [[nodiscard]] std::uint64_t* own_bits(const Piece& piece) {
    return own_.data() + piece.first / 64;
  }
  [[nodiscard]] Held& held(const Piece& piece) { return held_[piece.first / 256]; }
  void scan(const Piece& piece);
  std::size_t encode_blocks(const Piece& piece, Words out);
  std::size_t encode_filter(const Piece& piece, const Agreed& agreed, Words out);
  [[nodiscard]] kernels::BloomShape filter_of(const Piece& piece, const Agreed& agreed) const;
  void search(const kernels::BloomShape& shape, const Piece& piece, ConstWords filter);
  [[nodiscard]] ConstWords find(const Piece& piece, const Agreed& agreed);
  [[nodiscard]] ConstWords spread(const Piece& piece, const Agreed& agreed);

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  IndexOptions options_;
  std::string_view codec_;
  std::uint64_t ranks_;
  RoundInfo rounds_[2];
  CallBuffers call_;
  std::vector<std::uint64_t>
      own_;                 ///< this rank's bits of the vector; of a filter, in the end all ranks'
  std::vector<Held> held_;  ///< by 256 elements
  std::vector<std::uint64_t> union_;  ///< of one piece

  // Of one piece, where bits are no neighbours of elements.
  MemoryArray<std::uint64_t> beside_elements_, filter_;
};

}  // namespace cohom
