#include "codecs/sketch_cells.hpp"

#include "codecs/sketch_numbers.hpp"
#include "kernels/body/element.hpp"

#include <algorithm>
#include <bit>

namespace cohom {

using namespace kernels::body;

SketchCells::SketchCells(const CodecContext& context, const SketchOptions& options)
    : type_(context.type),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      kind_(options.cells),
      hashing_(context.kernels.hashing),
      layout_(options.gamma, options.size),
      scratch_(hashing_) {}

Merge SketchCells::merge() const {
  switch (kind_) {
    case SketchCellKind::f32: return {MergeKind::add_float, ElementType::f32};
    case SketchCellKind::f64: return {MergeKind::add_float, ElementType::f64};
    case SketchCellKind::integers: break;
  }
  return {MergeKind::add};
}

void SketchCells::reserve(std::size_t longest_piece) {
  const std::size_t items = layout_.most_items(longest_piece);
  values_.resize(items);
  places_.resize(items);
  names_.resize(layout_.by_position() ? items : 0);
  cells_.resize(layout_.most_cells_of_instance(longest_piece));
  scratch_.reserve(cells_.size());
}

template <class Visit>
void SketchCells::with_numbers(Visit visit) const {
  with_element_type(type_, [&]<class T>(T) {
    if constexpr (sizeof(T) < 8)
      if (are_integers()) return visit(T{}, SketchNumbers<T, std::uint64_t>(exponent_, ranks_));
    visit(T{}, SketchNumbers<T, Arithmetic<T>>());
  });
}

bool SketchCells::hold(const std::byte* elements, std::size_t count) const {
  bool held = true;
  with_numbers([&]<class T>(T, const auto& numbers) {
    for (std::size_t i = 0; i < count; ++i) held &= numbers.holds(load_element<T>(elements, i));
  });
  return held;
}

void SketchCells::to_cells(const std::byte* elements, std::size_t count, void* cells) const {
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>& numbers) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = load_element<T>(elements, i);
      static_cast<Cell*>(cells)[i] = numbers.holds(value) ? numbers.cell(value) : Cell{};
    }
  });
}

void SketchCells::from_cells(const void* cells, std::size_t count, std::byte* elements) const {
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>& numbers) {
    for (std::size_t i = 0; i < count; ++i)
      store_element<T>(elements, i, numbers.value(static_cast<const Cell*>(cells)[i]));
  });
}

/// Items are called by their number, or, where a union is not known yet when cells are made, by their
/// position.
std::span<const kernels::SketchPlace> SketchCells::places_of(const SketchInstance& instance,
                                                             const SparseIndex::Union& positions) {
  const std::uint32_t* names = nullptr;
  if (instance.by_position) {
    std::size_t next = 0;
    const std::size_t words = kernels::bitmap_words(instance.elements);
    for (std::size_t w = 0; w < words; ++w)
      for (std::uint64_t left = positions.bits[instance.first_element / 64 + w]; left != 0;
           left &= left - 1)
        names_[next++] =
            static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(left));
    names = names_.data();
  }
  hashing_.places(instance.shape, names, instance.items, places_.data());
  return std::span(places_).first(instance.items);
}

std::size_t SketchCells::sketch(const Piece& piece, const SparseIndex::Union& positions,
                                const std::byte* elements, Words out) {
  const std::size_t words = this->words(piece, positions);
  std::ranges::fill(out.first(words), 0u);
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>&) {
    auto* const values = reinterpret_cast<Cell*>(values_.data());
    auto* cells = reinterpret_cast<Cell*>(out.data());
    layout_.for_each_instance(piece, positions, [&](const SketchInstance& instance) {
      const std::byte* const from = elements + instance.first * sizeof(T);
      to_cells(from, instance.items, instance.plain ? cells : values);
      if (!instance.plain)
        kernels::sketch_insert<Cell>(places_of(instance, positions), values, cells);
      cells += instance.cells();
    });
  });
  return words;
}

void SketchCells::recover(const Piece& piece, const SparseIndex::Union& positions, ConstWords sum,
                          std::byte* elements, std::uint8_t* known) {
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>&) {
    const auto* from = reinterpret_cast<const Cell*>(sum.data());
    auto* const values = reinterpret_cast<Cell*>(values_.data());
    layout_.for_each_instance(piece, positions, [&](const SketchInstance& instance) {
      const std::span cells(reinterpret_cast<Cell*>(cells_.data()), instance.cells());
      std::uint8_t* const found = known + instance.first;
      if (instance.plain) {
        std::fill_n(found, instance.items, std::uint8_t{1});
      } else {
        std::copy_n(from, cells.size(), cells.data());
        kernels::sketch_peel<Cell>(places_of(instance, positions), cells, scratch_, found, values);
      }
      from_cells(instance.plain ? from : values, instance.items,
                 elements + instance.first * sizeof(T));
      from += instance.cells();
    });
  });
}

}  // namespace cohom
