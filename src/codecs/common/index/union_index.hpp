#pragma once
// UnionIndex: the rounds of one form of an index, and what they agreed on. Specified in
// docs/wire-format.md, "sparse".

#include "codecs/common/index/own_positions.hpp"
#include "codecs/common/index/sparse_options.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace cohom {

class UnionIndex {
 public:
  virtual ~UnionIndex() = default;
  /// In order.
  [[nodiscard]] virtual std::span<Round* const> rounds() = 0;
  virtual void reserve(std::size_t longest_piece) = 0;
  /// The agreed bits of a piece; valid until the next call.
  /// @throws Error(transport) when an index arrived that is none of this piece
  virtual ConstPayload bits_of(const Piece& piece) = 0;
};

/// What the parts of an index are made of. What is referred to outlives them.
struct IndexSetup {
  const CodecContext& context;
  const IndexOptions& options;
  std::string_view codec;  ///< the name that errors are said with
  const CallBuffers& call;
  OwnPositions& own;
  NeededBy needed_by;
};

/// Round `index`, a bit an element.
std::unique_ptr<UnionIndex> make_flat_index(const IndexSetup& setup);
/// Round `blocks`, two bits a block of 512 elements: some rank has values there, or so many that
/// naming them would take more than it saves; then all of the block counts as the union's. Round
/// `index` has the bits of the blocks with values only.
std::unique_ptr<UnionIndex> make_two_level_index(const IndexSetup& setup);
/// Round `values`, how many this rank has. Round `index`, a Bloom filter of the size that their sum
/// needs, or a bit an element where that is less. Zeros that a filter takes for values (ghosts)
/// count as the union's.
std::unique_ptr<UnionIndex> make_bloom_index(const IndexSetup& setup);

/// Of a round whose payload is as long as what was agreed on before, or always a bit an element: a
/// bit an element is much, so it takes the way of the payload.
RoundTraits index_traits(const IndexSetup& setup, PayloadLength length);

[[noreturn]] void refuse_index(std::string_view codec);

}  // namespace cohom
