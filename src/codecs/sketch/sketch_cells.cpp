#include "codecs/sketch/sketch_cells.hpp"

#include "codecs/sketch/sketch_means.hpp"
#include "codecs/sketch/sketch_numbers.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/sketch/body/sketch_blocks.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace cohom {

using namespace kernels::body;
using kernels::SketchPart;
using kernels::SketchRun;

SketchCells::SketchCells(const CodecContext& context, const SketchOptions& options)
    : type_(context.type),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      divisor_(context.divisor),
      kind_(options.cells),
      kernels_(context.kernels),
      memory_(context.memory),
      layout_(options.gamma, options.size),
      workspace_(context.on_host().placing) {}

Merge SketchCells::merge() const {
  switch (kind_) {
    case SketchCellKind::f32: return {MergeKind::add_float, ElementType::f32};
    case SketchCellKind::f64: return {MergeKind::add_float, ElementType::f64};
    case SketchCellKind::integers: break;
  }
  return {MergeKind::add};
}

void SketchCells::reserve(std::size_t longest_piece) {
  parts_.reserve(layout_.max_instances(longest_piece));
  if (are_integers()) held_.resize(longest_piece / kernels::sketch_block + 1);
  if (by_position()) {
    names_ = {memory_, longest_piece};
    if (!memory_.is_host()) {
      std::vector<std::uint32_t> numbers(longest_piece);
      std::iota(numbers.begin(), numbers.end(), 0u);
      numbers_ = {memory_, longest_piece};
      memory_.from_host(numbers_.data(), numbers.data(), longest_piece * sizeof(std::uint32_t));
    }
  }
  if (memory_.is_host() || makes_means())
    workspace_.reserve(layout_.max_items_of_instance(longest_piece),
                       layout_.max_cells_of_instance(longest_piece));
  if (!memory_.is_host() && makes_means()) {
    host_.sum.resize(max_words(longest_piece));
    host_.names.resize(by_position() ? longest_piece : 0);
    host_.elements.resize(longest_piece * size_of(type_));
    host_.known.resize(longest_piece);
  } else if (!memory_.is_host()) {
    scratch_ = {memory_,
                kernels::sketch_scratch_bytes(longest_piece, layout_.max_cells(longest_piece))};
  }
}

template <class Visit>
void SketchCells::with_numbers(Visit visit) const {
  with_element_type(type_, [&]<class T>(T) {
    if constexpr (sizeof(T) < 8)
      if (are_integers()) return visit(T{}, SketchNumbers<T, std::uint64_t>(point()));
    visit(T{}, SketchNumbers<T, Arithmetic<T>>());
  });
}

void SketchCells::find_unheld(const std::byte* elements, std::size_t count, Payload blocks) {
  std::ranges::fill(blocks, 0u);
  if (are_integers()) {
    kernels_.blocks.of<SketchHeld>().measure(SketchHeld::Settings(point()), {type_, count},
                                             elements, held_.data());
    for (std::size_t b = 0; b * SketchHeld::block < count; ++b)
      blocks[b / 64] |= std::uint64_t{held_[b] != 0 ? 0u : 1u} << b % 64;
    return;
  }
  with_numbers([&]<class T>(T, const auto& numbers) {
    for (std::size_t i = 0; i < count; ++i)
      if (!numbers.holds(load_element<T>(elements, i))) {
        const std::size_t block = i / kernels::sketch_block;
        blocks[block / 64] |= std::uint64_t{1} << block % 64;
      }
  });
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
  if (makes_means()) {
    const int ranks_bits = static_cast<int>(std::bit_width(ranks_ - 1));
    const SketchMeans means(type_, exponent_ + ranks_bits - 62, divisor_);
    return with_element_type(type_, [&]<class T>(T) {
      if constexpr (sizeof(T) < 8)
        for (std::size_t i = 0; i < count; ++i)
          store_element<T>(elements, i, means.of<T>(static_cast<const std::uint64_t*>(cells)[i]));
    });
  }
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>& numbers) {
    for (std::size_t i = 0; i < count; ++i)
      store_element<T>(elements, i, numbers.value(static_cast<const Cell*>(cells)[i]));
  });
}

/// Items are called by their number, or, where a union is not known yet when cells are made, by
/// their position.
SketchRun SketchCells::run_of(const PieceUnion& part) {
  std::size_t cells = 0;
  parts_.clear();
  layout_.for_each_instance(part.piece, part.positions, [&](const SketchInstance& instance) {
    parts_.push_back({.first = instance.first,
                      .items = instance.items,
                      .first_cell = cells,
                      .first_name = static_cast<std::uint32_t>(instance.first_element),
                      .plain = instance.plain,
                      .shape = instance.shape});
    cells += instance.cells();
  });
  if (by_position()) name(part);
  return {.format = {type_, point()},
          .parts = parts_,
          .names = by_position() ? names_.data() : nullptr,
          .workspace = &workspace_,
          .scratch = scratch_.data()};
}

/// Names count from the piece's first element on.
void SketchCells::name(const PieceUnion& part) {
  const Piece& piece = part.piece;
  if (!memory_.is_host()) {
    kernels_.sparse.compact({sizeof(std::uint32_t), piece.first, piece.count}, numbers_.data(),
                            part.bits, names_.data());
    return;
  }
  std::uint32_t* next = names_.data();
  for (std::size_t w = 0; w < kernels::bitmap_words(piece.count); ++w)
    for (std::uint64_t left = part.bits[w]; left != 0; left &= left - 1)
      *next++ =
          static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(left));
}

std::size_t SketchCells::sketch(const PieceUnion& part, const std::byte* elements, Payload out) {
  const SketchRun run = run_of(part);
  const std::size_t words = words_of_cells(run.cells());
  if (are_integers())
    kernels_.sketch.insert(run, elements, out.data());
  else
    insert_floats(run, elements, out.first(words));
  return words;
}

std::size_t SketchCells::recover(const PieceUnion& part, ConstPayload sum, std::byte* elements,
                                 std::uint8_t* known) {
  if (makes_means()) return recover_means(part, sum, elements, known);
  const SketchRun run = run_of(part);
  if (are_integers()) return kernels_.sketch.peel(run, sum.data(), known, elements);
  return peel_on_host(run, sum, elements, known);
}

/// Kernels know sums alone.
std::size_t SketchCells::recover_means(const PieceUnion& part, ConstPayload sum,
                                       std::byte* elements, std::uint8_t* known) {
  SketchRun run = run_of(part);
  if (memory_.is_host()) return peel_on_host(run, sum, elements, known);
  const std::size_t items = part.positions.elements;
  memory_.to_host(host_.sum.data(), sum.data(), sum.size_bytes());
  if (by_position()) {
    memory_.to_host(host_.names.data(), names_.data(), items * sizeof(std::uint32_t));
    run.names = host_.names.data();
  }
  const std::size_t left = peel_on_host(run, std::span(host_.sum).first(sum.size()),
                                        host_.elements.data(), host_.known.data());
  memory_.from_host(elements, host_.elements.data(), items * size_of(type_));
  memory_.from_host(known, host_.known.data(), items);
  return left;
}

void SketchCells::insert_floats(const SketchRun& run, const std::byte* elements, Payload out) {
  std::ranges::fill(out, 0u);
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>&) {
    auto* const values = workspace_.values<Cell>();
    for (const SketchPart& part : run.parts) {
      const std::byte* const from = elements + part.first * sizeof(T);
      Cell* const cells = reinterpret_cast<Cell*>(out.data()) + part.first_cell;
      to_cells(from, part.items, part.plain ? cells : values);
      if (!part.plain) kernels::sketch_insert<Cell>(workspace_.places_of(run, part), values, cells);
    }
  });
}

std::size_t SketchCells::peel_on_host(const SketchRun& run, ConstPayload sum, std::byte* elements,
                                      std::uint8_t* known) {
  std::size_t left = 0;
  with_numbers([&]<class T, class Cell>(T, const SketchNumbers<T, Cell>&) {
    for (const SketchPart& part : run.parts) {
      const Cell* const from = reinterpret_cast<const Cell*>(sum.data()) + part.first_cell;
      std::uint8_t* const found = known + part.first;
      if (part.plain)
        std::fill_n(found, part.items, std::uint8_t{1});
      else
        left += workspace_.peel(run, part, from, found);
      from_cells(part.plain ? from : workspace_.values<Cell>(), part.items,
                 elements + part.first * sizeof(T));
    }
  });
  return left;
}

}  // namespace cohom
