#pragma once
// OwnPositions: the positions of this rank's values, a bit an element, and where all ranks' take
// their place. Zero is tested on the bits of an element, so -0.0 is a value.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "kernels/sparse/sparse.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace cohom {

class OwnPositions {
 public:
  /// `call` outlives it, as with all parts of an index. Pieces start at multiples of 256 elements.
  /// `before_scan` comes before the input is read, each time; may be empty.
  OwnPositions(const CodecContext& context, const CallBuffers& call,
               std::function<void()> before_scan = {});

  void reserve(std::size_t elements, std::size_t longest_piece);
  void start();

  /// Looks for the values of a piece, once a call.
  void scan(const Piece& piece);
  /// The bits of a piece that was scanned, the host's.
  [[nodiscard]] std::uint64_t* bits(const Piece& piece) { return own_.data() + piece.first / 64; }
  /// The caller is to put the union in the bits' place; false: it has done so in this call.
  [[nodiscard]] bool becomes_union(const Piece& piece);

  /// Bits of a piece where its elements lie, for kernels. Valid until the next call of any of
  /// these.
  [[nodiscard]] const std::uint64_t* beside_elements(const std::uint64_t* bits, const Piece& piece);
  /// Room for the bits of a piece where its elements lie, if that is not the host.
  [[nodiscard]] std::uint64_t* scratch_beside_elements() { return beside_elements_.data(); }

 private:
  /// What the bits of a piece are.
  enum class Held : std::uint8_t { nothing, own_bits, union_of_all };

  [[nodiscard]] Held& held(const Piece& piece) { return held_[piece.first / 256]; }

  ElementType type_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  Memory& memory_;
  const CallBuffers& call_;
  std::function<void()> before_scan_;
  std::vector<std::uint64_t> own_;              ///< of the vector
  std::vector<Held> held_;                      ///< by 256 elements
  MemoryArray<std::uint64_t> beside_elements_;  ///< of one piece
};

}  // namespace cohom
