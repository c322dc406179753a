#pragma once
// SketchCells: elements of a piece's union to the cells of its sketches and back, in any type of
// cell.
//
// Cells that are integers may lie on a device, with their elements. Those of floating-point numbers
// are the host's: their sums depend on the order in which items are taken out.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/index/sparse_index.hpp"
#include "codecs/sketch/sketch_layout.hpp"
#include "codecs/sketch/sketch_options.hpp"
#include "kernels/sketch/sketch_workspace.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

class SketchCells {
 public:
  SketchCells(const CodecContext& context, const SketchOptions& options);

  /// How cells are added up.
  [[nodiscard]] Merge merge() const;
  [[nodiscard]] bool are_integers() const { return kind_ == SketchCellKind::integers; }
  /// By what elements that come from cells are still to be divided: means of integers are, already.
  [[nodiscard]] std::uint64_t divisor_left() const { return are_integers() ? 1 : divisor_; }
  /// Whether cells are made from a rank's own positions, without the union.
  [[nodiscard]] bool by_position() const { return layout_.by_position(); }

  /// Of one cell.
  [[nodiscard]] std::size_t bytes() const { return kind_ == SketchCellKind::f32 ? 4 : 8; }
  [[nodiscard]] std::size_t words_of_cells(std::size_t cells) const {
    return (cells * bytes() + 7) / 8;
  }
  /// Words of the sketches of a piece with this union; the most that a piece's can take.
  [[nodiscard]] std::size_t words(const Piece& piece, const SparseIndex::Union& positions) const {
    return words_of_cells(layout_.cells(piece, positions.elements));
  }
  [[nodiscard]] std::size_t max_words(std::size_t elements) const {
    return words_of_cells(layout_.max_cells(elements));
  }

  void reserve(std::size_t longest_piece);
  /// A call whose hashes come from `key`.
  void begin(std::uint64_t key) { layout_.set_key(key); }
  /// The exponent of the largest magnitude of all ranks, for cells that are integers.
  void agree_on(int exponent) { exponent_ = exponent; }
  [[nodiscard]] int exponent() const { return exponent_; }

  /// Writes a bit for each block of 256 elements, in whole words: whether cells cannot hold all of
  /// them.
  void find_unheld(const std::byte* elements, std::size_t count, Payload blocks);

  /// What sketch() and recover() know of a piece.
  struct PieceUnion {
    Piece piece;
    SparseIndex::Union positions;
    const std::uint64_t* bits;  ///< those of the union, beside the elements
  };

  /// Writes the cells of a piece's elements at these positions, side by side at `elements`; what
  /// cells cannot hold is left out. Returns the words written.
  std::size_t sketch(const PieceUnion& part, const std::byte* elements, Payload out);
  /// The inverse of a sum: the elements at the union's positions, and which of them were recovered.
  /// Returns how many were not.
  std::size_t recover(const PieceUnion& part, ConstPayload sum, std::byte* elements,
                      std::uint8_t* known);

  /// Elements of the host as cells, one each, and back.
  void to_cells(const std::byte* elements, std::size_t count, void* cells) const;
  void from_cells(const void* cells, std::size_t count, std::byte* elements) const;

 private:
  /// What the host needs of a piece on a device to make means.
  struct HostPiece {
    std::vector<std::uint64_t> sum;
    std::vector<std::uint32_t> names;
    std::vector<std::byte> elements;
    std::vector<std::uint8_t> known;
  };

  /// Calls visit(T{}, numbers) with the types of elements and cells.
  template <class Visit>
  void with_numbers(Visit visit) const;
  [[nodiscard]] kernels::body::FixedPoint point() const { return {exponent_, ranks_}; }
  [[nodiscard]] kernels::SketchRun run_of(const PieceUnion& part);
  void name(const PieceUnion& part);
  void insert_floats(const kernels::SketchRun& run, const std::byte* elements, Payload out);
  /// Whether the host peels integers, which kernels round before they divide.
  [[nodiscard]] bool makes_means() const { return are_integers() && divisor_ != 1; }
  std::size_t recover_means(const PieceUnion& part, ConstPayload sum, std::byte* elements,
                            std::uint8_t* known);
  std::size_t peel_on_host(const kernels::SketchRun& run, ConstPayload sum, std::byte* elements,
                           std::uint8_t* known);

  ElementType type_;
  std::uint32_t ranks_;
  std::uint64_t divisor_;
  SketchCellKind kind_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  SketchLayout layout_;
  int exponent_ = 0;

  // Of one piece.
  std::vector<kernels::SketchPart> parts_;
  MemoryArray<std::uint32_t> names_;    ///< where items go by position
  MemoryArray<std::uint32_t> numbers_;  ///< 0, 1, 2 ..., on a device, to be compacted to names
  MemoryArray<std::byte> scratch_;      ///< of a device
  kernels::SketchWorkspace workspace_;  ///< of the host
  std::vector<std::uint8_t> held_;      ///< by block
  HostPiece host_;
};

}  // namespace cohom
