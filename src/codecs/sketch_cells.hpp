#pragma once
// SketchCells: elements of a piece's union to the cells of its sketches and back, in any type of cell.

#include "codec_interface.hpp"
#include "codecs/codec_context.hpp"
#include "codecs/sketch_layout.hpp"
#include "codecs/sketch_options.hpp"
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

  /// Of one cell.
  [[nodiscard]] std::size_t bytes() const { return kind_ == SketchCellKind::f32 ? 4 : 8; }
  [[nodiscard]] std::size_t words_of_cells(std::size_t cells) const {
    return (cells * bytes() + 7) / 8;
  }
  /// Words of the sketches of so many elements of a union; the most that a piece's can take.
  [[nodiscard]] std::size_t words(std::size_t items) const {
    return words_of_cells(layout_.cells(items));
  }
  [[nodiscard]] std::size_t most_words(std::size_t elements) const {
    return words_of_cells(layout_.most_cells(elements));
  }

  void reserve(std::size_t longest_piece);
  /// A call whose hashes come from `key`.
  void begin(std::uint64_t key) { layout_ = SketchLayout(gamma_, key); }
  /// The exponent of the largest magnitude of all ranks, for cells that are integers.
  void agree_on(int exponent) { exponent_ = exponent; }

  /// Whether cells can hold all of so many elements.
  [[nodiscard]] bool hold(const std::byte* elements, std::size_t count) const;

  /// Writes the cells of the union of a piece that starts at element `first`; what they cannot hold is
  /// left out. Returns the words written.
  std::size_t sketch(std::size_t first, const std::byte* elements, std::size_t items, Words out);
  /// The inverse of a sum: elements, and which of them were recovered.
  void recover(std::size_t first, ConstWords sum, std::byte* elements,
               std::span<std::uint8_t> known);

  /// Elements as cells, one each, and back.
  void to_cells(const std::byte* elements, std::size_t count, void* cells) const;
  void from_cells(const void* cells, std::size_t count, std::byte* elements) const;

 private:
  /// Calls visit(T{}, numbers) with the types of elements and cells.
  template <class Visit>
  void with_numbers(Visit visit) const;

  ElementType type_;
  std::uint32_t ranks_;
  SketchCellKind kind_;
  double gamma_;
  SketchLayout layout_;
  int exponent_ = 0;
  std::vector<std::uint64_t> cells_, values_;  ///< of one instance, of any type of cell
  kernels::SketchScratch scratch_;
};

}  // namespace cohom
