#include "codecs/sketch.hpp"

#include "codecs/escape_round.hpp"
#include "codecs/leftover.hpp"
#include "codecs/sketch_layout.hpp"
#include "codecs/sketch_numbers.hpp"
#include "codecs/sketch_options.hpp"
#include "kernels/body/element.hpp"
#include "kernels/body/random.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace cohom {
namespace {

using namespace kernels::body;

/// Makes exponents of elements positive numbers; 0 is a rank of zeros.
constexpr int exponent_offset = 1 << 12;

Merge cell_merge(SketchCells cells) {
  switch (cells) {
    case SketchCells::f32: return {MergeKind::add_float, ElementType::f32};
    case SketchCells::f64: return {MergeKind::add_float, ElementType::f64};
    case SketchCells::integers: break;
  }
  return {MergeKind::add};
}

bool is_set(ConstWords bits, std::size_t i) { return (bits[i / 64] >> i % 64 & 1) != 0; }

class SketchCodec final : public Codec {
 public:
  SketchCodec(const CodecContext& context, const SketchOptions& options);

  [[nodiscard]] std::size_t block() const override { return escape_block; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override { return rounds_; }
  [[nodiscard]] int payload_round() const override { return payload_; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override;
  void reserve(std::size_t elements, std::size_t longest_piece) override;
  void begin(const CallBuffers& call) override;
  std::size_t late_elements(int round, const Agreed& agreed) override;
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  /// Elements that escape together; a multiple of 64, so that their bits begin a word.
  static constexpr std::size_t escape_block = 256;

  [[nodiscard]] int maximum_round() const { return escapes_round() - 1; }
  [[nodiscard]] int escapes_round() const { return payload_ - 1; }
  [[nodiscard]] int leftover_round() const { return payload_ + 2; }
  [[nodiscard]] bool integers() const { return options_.cells == SketchCells::integers; }
  [[nodiscard]] std::size_t cell_bytes() const {
    return options_.cells == SketchCells::f32 ? 4 : 8;
  }
  [[nodiscard]] std::size_t words_of_cells(std::size_t cells) const {
    return (cells * cell_bytes() + 7) / 8;
  }
  [[nodiscard]] kernels::SparseRun run_of(std::size_t first, std::size_t count) const {
    return {size_of(type_), first, count};
  }
  [[nodiscard]] const std::byte* input_at(std::size_t element) const {
    return static_cast<const std::byte*>(call_.input) + element * size_of(type_);
  }
  [[nodiscard]] std::byte* output_at(std::size_t element) const {
    return static_cast<std::byte*>(call_.output) + element * size_of(type_);
  }

  /// Calls visit(T{}, numbers) with the types of elements and cells.
  template <class Visit>
  void with_numbers(const Agreed& agreed, Visit visit) const;

  std::size_t encode_maximum(const Piece& piece, Words out);
  std::size_t encode_escapes(const Piece& piece, const Agreed& agreed, Words out) const;
  std::size_t encode_cells(const Piece& piece, const Agreed& agreed, Words out);
  std::size_t encode_leftover(const Piece& piece, const Agreed& agreed, Words out) const;
  void decode_cells(const Piece& piece, const Agreed& agreed, ConstWords sum);
  void decode_leftover(const Piece& piece, const Agreed& agreed, ConstWords sum) const;
  template <class T, class Cell>
  void peel(const SketchInstance& instance, const SketchNumbers<T, Cell>& numbers, Cell* cells);
  void keep_leftover(const Piece& piece, const SparseIndex::Union& positions, ConstWords escapes);
  void expand(const Piece& piece, const SparseIndex::Union& positions, ConstWords escapes);

  ElementType type_;
  std::uint32_t ranks_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  SketchOptions options_;
  SparseIndex index_;
  std::vector<RoundInfo> rounds_;
  int payload_;
  EscapeRound escape_;

  // Of one piece or instance.
  std::vector<std::byte> compacted_, finished_;  ///< the union's elements
  std::vector<std::uint8_t> known_;              ///< of them, what peeled
  std::vector<std::uint64_t> cells_, values_;    ///< of any type of cell
  kernels::SketchScratch scratch_;

  // Of the call in flight.
  CallBuffers call_;
  SketchLayout layout_;
  Leftover leftover_;
  int own_exponent_ = 0;
};

SketchCodec::SketchCodec(const CodecContext& context, const SketchOptions& options)
    : type_(context.type),
      ranks_(static_cast<std::uint32_t>(context.ranks)),
      divisor_(context.divisor),
      kernels_(context.kernels),
      options_(options),
      index_(context, options.index),
      rounds_(index_.rounds().begin(), index_.rounds().end()),
      escape_(context),
      layout_(options.gamma, 0) {
  if (integers())
    rounds_.push_back({.name = "maximum", .merge = {MergeKind::max}, .scope = RoundScope::vector});
  rounds_.push_back({.name = "escapes", .merge = {MergeKind::bit_or}});
  payload_ = static_cast<int>(rounds_.size());
  rounds_.push_back({.name = "payload", .merge = cell_merge(options.cells), .varies = true});
  rounds_.push_back(EscapeRound::info(type_));
  rounds_.push_back({.name = "leftover",
                     .merge = cell_merge(options.cells),
                     .scope = RoundScope::late,
                     .after_payload = true,
                     .algorithm = "direct"});
}

std::size_t SketchCodec::capacity(int round, Form, std::size_t elements) const {
  if (round == payload_) return words_of_cells(layout_.most_cells(elements));
  if (round == leftover_round()) return words_of_cells(elements);
  if (round > payload_) return escape_.capacity(elements);
  if (round == escapes_round()) return (elements + 64 * escape_block - 1) / (64 * escape_block);
  if (integers() && round == maximum_round()) return elements == 0 ? 0 : 1;
  return index_.capacity(round, elements);
}

void SketchCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  index_.reserve(elements, longest_piece);
  leftover_.reserve(elements);
  compacted_.resize(longest_piece * size_of(type_));
  finished_.resize(longest_piece * size_of(type_));
  known_.resize(longest_piece);
  values_.resize(SketchLayout::most_items(longest_piece));
  const std::size_t cells = layout_.most_cells(SketchLayout::most_items(longest_piece));
  cells_.resize(cells);
  scratch_.reserve(cells);
}

void SketchCodec::begin(const CallBuffers& call) {
  call_ = call;
  index_.begin(call);
  layout_ = SketchLayout(options_.gamma, key(options_.seed, call.step, Stream::sketch, 0));
  leftover_.clear();
  escape_.blocks().clear();
  own_exponent_ = 0;
}

template <class Visit>
void SketchCodec::with_numbers(const Agreed& agreed, Visit visit) const {
  with_element_type(type_, [&]<class T>(T) {
    if constexpr (sizeof(T) < 8)
      if (integers()) {
        const std::uint64_t maximum = agreed.words(maximum_round(), agreed.pieces()[0])[0];
        const int exponent = maximum == 0 ? 0 : static_cast<int>(maximum) - exponent_offset;
        visit(T{}, SketchNumbers<T, std::uint64_t>(exponent, ranks_));
        return;
      }
    visit(T{}, SketchNumbers<T, Arithmetic<T>>(0, ranks_));
  });
}

/// For every piece in order, into the same word.
std::size_t SketchCodec::encode_maximum(const Piece& piece, Words out) {
  with_element_type(type_, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    typename FloatFormat<Real>::Bits largest = 0;
    for (std::size_t i = 0; i < piece.count; ++i) {
      const auto magnitude = magnitude_bits(load_element<T>(call_.input, piece.first + i));
      if (magnitude < FloatFormat<Real>::infinity) largest = std::max(largest, magnitude);
    }
    if (largest != 0)
      own_exponent_ = std::max(own_exponent_, floor_log2<Real>(largest) + exponent_offset);
  });
  out[0] = static_cast<std::uint64_t>(own_exponent_);
  return 1;
}

std::size_t SketchCodec::encode_escapes(const Piece& piece, const Agreed& agreed, Words out) const {
  const std::size_t words = capacity(escapes_round(), Form::wide, piece.count);
  std::ranges::fill(out.first(words), 0u);
  with_numbers(agreed, [&]<class T>(T, const auto& numbers) {
    for (std::size_t first = 0, b = 0; first < piece.count; first += escape_block, ++b) {
      bool held = true;
      for (std::size_t i = first; i < std::min(piece.count, first + escape_block); ++i)
        held &= numbers.holds(load_element<T>(call_.input, piece.first + i));
      if (!held) out[b / 64] |= std::uint64_t{1} << b % 64;
    }
  });
  return words;
}

std::size_t SketchCodec::encode(int round, Form, const Piece& piece, const Agreed& agreed,
                                Words out) {
  if (round == payload_) return encode_cells(piece, agreed, out);
  if (round == leftover_round()) return encode_leftover(piece, agreed, out);
  if (round > payload_) return escape_.encode(piece, call_.input, nullptr, out);
  if (round == escapes_round()) return encode_escapes(piece, agreed, out);
  if (integers() && round == maximum_round()) return encode_maximum(piece, out);
  return index_.encode(round, piece, agreed, out);
}

std::size_t SketchCodec::encode_cells(const Piece& piece, const Agreed& agreed, Words out) {
  const SparseIndex::Union positions = index_.union_of(piece, agreed);
  kernels_.sparse.compact(run_of(piece.first, piece.count), input_at(piece.first), positions.bits,
                          compacted_.data());
  const std::size_t words = words_of_cells(layout_.cells(positions.elements));
  std::ranges::fill(out.first(words), 0u);
  with_numbers(agreed, [&]<class T>(T, const auto& numbers) {
    using Cell = decltype(numbers.cell({}));
    auto* const values = reinterpret_cast<Cell*>(values_.data());
    auto* cells = reinterpret_cast<Cell*>(out.data());
    layout_.for_each_instance(piece.first, positions.elements, [&](const SketchInstance& instance) {
      for (std::size_t i = 0; i < instance.items; ++i) {
        const auto value = load_element<T>(compacted_.data(), instance.first + i);
        values[i] = numbers.holds(value) ? numbers.cell(value) : Cell{};
      }
      if (instance.plain)
        std::copy_n(values, instance.items, cells);
      else
        kernels::sketch_insert<Cell>(instance.shape, {.count = instance.items}, values, cells);
      cells += instance.cells();
    });
  });
  return words;
}

/// Recovers an instance's elements into compacted_, and which of them into known_.
template <class T, class Cell>
void SketchCodec::peel(const SketchInstance& instance, const SketchNumbers<T, Cell>& numbers,
                       Cell* cells) {
  auto* values = reinterpret_cast<Cell*>(values_.data());
  std::uint8_t* const known = known_.data() + instance.first;
  if (instance.plain) {
    values = cells;
    std::fill_n(known, instance.items, std::uint8_t{1});
  } else {
    kernels::sketch_peel(instance.shape, {.count = instance.items}, cells, scratch_, values, known);
  }
  for (std::size_t i = 0; i < instance.items; ++i)
    store_element<T>(compacted_.data(), instance.first + i, numbers.value(values[i]));
}

void SketchCodec::decode_cells(const Piece& piece, const Agreed& agreed, ConstWords sum) {
  const SparseIndex::Union positions = index_.union_of(piece, agreed);
  if (sum.size() != words_of_cells(layout_.cells(positions.elements)))
    throw Error(ErrorKind::transport, "sketch: a sum of " + std::to_string(sum.size()) +
                                          " words came for " + std::to_string(positions.elements) +
                                          " elements");
  with_numbers(agreed, [&]<class T, class Cell>(T, const SketchNumbers<T, Cell>& numbers) {
    const auto* from = reinterpret_cast<const Cell*>(sum.data());
    auto* const cells = reinterpret_cast<Cell*>(cells_.data());
    layout_.for_each_instance(piece.first, positions.elements, [&](const SketchInstance& instance) {
      std::copy_n(from, instance.cells(), cells);
      peel<T, Cell>(instance, numbers, cells);
      from += instance.cells();
    });
  });
  kernels_.finish_elements(type_, compacted_.data(), positions.elements, divisor_,
                           finished_.data());
  const ConstWords escapes = agreed.words(escapes_round(), piece);
  keep_leftover(piece, positions, escapes);
  expand(piece, positions, escapes);
}

/// What did not peel stays as the input has it, because in place that is still to be sent.
void SketchCodec::keep_leftover(const Piece& piece, const SparseIndex::Union& positions,
                                ConstWords escapes) {
  const auto known = std::span(known_).first(positions.elements);
  if (std::ranges::find(known, std::uint8_t{0}) == known.end()) return;
  std::size_t i = 0;
  for (std::size_t w = 0; w < kernels::bitmap_words(piece.count); ++w)
    for (std::uint64_t left = positions.bits[w]; left != 0; left &= left - 1, ++i) {
      if (known[i] != 0 || is_set(escapes, 64 * w / escape_block)) continue;
      const std::size_t position =
          piece.first + 64 * w + static_cast<std::size_t>(std::countr_zero(left));
      leftover_.add(position);
      std::memcpy(finished_.data() + i * size_of(type_), input_at(position), size_of(type_));
    }
}

/// Writes the piece's elements, but those of blocks that escaped.
void SketchCodec::expand(const Piece& piece, const SparseIndex::Union& positions,
                         ConstWords escapes) {
  const std::size_t blocks = (piece.count + escape_block - 1) / escape_block;
  const auto escaped = [&](std::size_t b) { return is_set(escapes, b); };
  const std::byte* from = finished_.data();
  for (std::size_t b = 0; b < blocks;) {
    std::size_t end = b + 1;
    while (end < blocks && escaped(end) == escaped(b)) ++end;
    const std::size_t first = b * escape_block;
    const std::size_t count = std::min(end * escape_block, piece.count) - first;
    const std::uint64_t* const bits = positions.bits + first / 64;
    if (escaped(b))
      for (std::size_t i = 0; i < count; i += escape_block)
        escape_.blocks().add(piece.first + first + i, std::min(escape_block, count - i));
    else
      kernels_.sparse.expand(run_of(piece.first + first, count), from, bits,
                             output_at(piece.first + first));
    from += kernels_.sparse.count_bits(bits, kernels::bitmap_words(count)) * size_of(type_);
    b = end;
  }
}

std::size_t SketchCodec::late_elements(int round, const Agreed&) {
  return round == leftover_round() ? leftover_.finish() : escape_.blocks().finish();
}

std::size_t SketchCodec::encode_leftover(const Piece& piece, const Agreed& agreed,
                                         Words out) const {
  const std::size_t words = words_of_cells(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  with_numbers(agreed, [&]<class T>(T, const auto& numbers) {
    using Cell = decltype(numbers.cell({}));
    auto* const cells = reinterpret_cast<Cell*>(out.data());
    for (std::size_t i = 0; i < piece.count; ++i) {
      const auto value = load_element<T>(call_.input, leftover_.position(piece.first + i));
      cells[i] = numbers.holds(value) ? numbers.cell(value) : Cell{};
    }
  });
  return words;
}

void SketchCodec::decode_leftover(const Piece& piece, const Agreed& agreed, ConstWords sum) const {
  with_numbers(agreed, [&]<class T, class Cell>(T, const SketchNumbers<T, Cell>& numbers) {
    const auto* const cells = reinterpret_cast<const Cell*>(sum.data());
    for (std::size_t i = 0; i < piece.count; ++i) {
      T element;
      store_element<T>(&element, 0, numbers.value(cells[i]));
      kernels_.finish_elements(type_, &element, 1, divisor_,
                               output_at(leftover_.position(piece.first + i)));
    }
  });
}

void SketchCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                         std::size_t) {
  if (round == payload_) return decode_cells(piece, agreed, sum);
  if (round == leftover_round()) return decode_leftover(piece, agreed, sum);
  escape_.decode(piece, sum, call_.output);
}

}  // namespace

std::unique_ptr<Codec> make_sketch(const CodecContext& context) {
  return std::make_unique<SketchCodec>(context,
                                       parse_sketch_options(context.parameters, context.type));
}

}  // namespace cohom
