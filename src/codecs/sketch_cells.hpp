#pragma once
// SketchCells: elements of a piece's union to the cells of its sketches and back, in any type of cell.

#include "codec_interface.hpp"
#include "codecs/codec_context.hpp"
#include "codecs/sketch_layout.hpp"
#include "codecs/sketch_options.hpp"
#include "codecs/sparse_index.hpp"
#include "kernels/sketch.hpp"

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
  [[nodiscard]] std::size_t most_words(std::size_t elements) const {
    return words_of_cells(layout_.most_cells(elements));
  }

  void reserve(std::size_t longest_piece);
  /// A call whose hashes come from `key`.
  void begin(std::uint64_t key) { layout_.set_key(key); }
  /// The exponent of the largest magnitude of all ranks, for cells that are integers.
  void agree_on(int exponent) { exponent_ = exponent; }

  /// Whether cells can hold all of so many elements.
  [[nodiscard]] bool hold(const std::byte* elements, std::size_t count) const;

  /// Writes the cells of a piece's elements at these positions, side by side at `elements`; what cells cannot
  /// hold is left out. Returns the words written.
  std::size_t sketch(const Piece& piece, const SparseIndex::Union& positions,
                     const std::byte* elements, Words out);
  /// The inverse of a sum: the elements at the union's positions, and which of them were recovered.
  void recover(const Piece& piece, const SparseIndex::Union& positions, ConstWords sum,
               std::byte* elements, std::uint8_t* known);

  /// Elements as cells, one each, and back.
  void to_cells(const std::byte* elements, std::size_t count, void* cells) const;
  void from_cells(const void* cells, std::size_t count, std::byte* elements) const;

 private:
  /// Calls visit(T{}, numbers) with the types of elements and cells.
  template <class Visit>
  void with_numbers(Visit visit) const;
  [[nodiscard]] std::span<const kernels::SketchPlace> places_of(
      const SketchInstance& instance, const SparseIndex::Union& positions);

  ElementType type_;
  std::uint32_t ranks_;
  SketchCellKind kind_;
  const kernels::HashingKernels& hashing_;
  SketchLayout layout_;
  int exponent_ = 0;
  std::vector<std::uint64_t> cells_, values_;  ///< of one instance, of any type of cell
  std::vector<std::uint32_t> names_;
  std::vector<kernels::SketchPlace> places_;
  kernels::SketchScratch scratch_;
};

}  // namespace cohom
