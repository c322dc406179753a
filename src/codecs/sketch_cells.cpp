#include "codecs/sketch_cells.hpp"

#include "codecs/sketch_numbers.hpp"
#include "kernels/body/element.hpp"

#include <algorithm>

namespace cohom {

using namespace kernels::body;

SketchCells::SketchCells(const CodecContext& context, const SketchOptions& options)
    : type_(context.type),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      kind_(options.cells),
      gamma_(options.gamma),
      layout_(options.gamma, 0) {}

Merge SketchCells::merge() const {
  switch (kind_) {
    case SketchCellKind::f32: return {MergeKind::add_float, ElementType::f32};
    case SketchCellKind::f64: return {MergeKind::add_float, ElementType::f64};
    case SketchCellKind::integers: break;
  }
  return {MergeKind::add};
}

void SketchCells::reserve(std::size_t longest_piece) {
  const std::size_t items = SketchLayout::most_items(longest_piece);
  values_.resize(items);
  cells_.resize(layout_.most_cells(items));
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

std::size_t SketchCells::sketch(std::size_t first, const std::byte* elements, std::size_t items,
                                Words out) {
  const std::size_t words = this->words(items);
  std::ranges::fill(out.first(words), 0u);
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>&) {
    auto* const values = reinterpret_cast<Cell*>(values_.data());
    auto* cells = reinterpret_cast<Cell*>(out.data());
    layout_.for_each_instance(first, items, [&](const SketchInstance& instance) {
      const std::byte* const from = elements + instance.first * sizeof(T);
      to_cells(from, instance.items, instance.plain ? cells : values);
      if (!instance.plain)
        kernels::sketch_insert<Cell>(instance.shape, instance.items, values, cells);
      cells += instance.cells();
    });
  });
  return words;
}

void SketchCells::recover(std::size_t first, ConstWords sum, std::byte* elements,
                          std::span<std::uint8_t> known) {
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>&) {
    const auto* from = reinterpret_cast<const Cell*>(sum.data());
    auto* const cells = reinterpret_cast<Cell*>(cells_.data());
    auto* const values = reinterpret_cast<Cell*>(values_.data());
    layout_.for_each_instance(first, known.size(), [&](const SketchInstance& instance) {
      const auto found = known.subspan(instance.first, instance.items);
      std::copy_n(from, instance.cells(), cells);
      if (instance.plain)
        std::ranges::fill(found, std::uint8_t{1});
      else
        kernels::sketch_peel<Cell>(instance.shape, cells, scratch_, found, values);
      from_cells(instance.plain ? cells : values, instance.items,
                 elements + instance.first * sizeof(T));
      from += instance.cells();
    });
  });
}

}  // namespace cohom
