#include "codecs/common/compacted.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {
namespace {

/// Long enough that the ragged end of a unit's values is a small part of them, short enough that
/// vectors of tens of KiB still have a chunk for every rank.
constexpr std::size_t shortest_unit = 16384;

}  // namespace

/// What the inner codec may know: words of a unit are a part of its piece's.
class CompactedCodec::UnitsAgreed final : public Agreed {
 public:
  UnitsAgreed(const CompactedCodec& codec, const Agreed& agreed) : codec_(codec), agreed_(agreed) {}

  [[nodiscard]] ConstWords words(int round, const Piece& inner) const override {
    const Unit& unit = codec_.units_[inner.index];
    std::size_t begin = 0;
    for (const Unit& before : codec_.units_of(unit.outer)) {
      if (&before == &unit) break;
      begin += codec_.words_of(round, Form::wide, before);
    }
    const ConstWords all = agreed_.words(codec_.first_ + round, unit.outer);
    return all.subspan(begin, codec_.words_of(round, Form::wide, unit));
  }
  [[nodiscard]] std::span<const Piece> pieces() const override { return codec_.inner_pieces_; }

 private:
  const CompactedCodec& codec_;
  const Agreed& agreed_;
};

CompactedCodec::CompactedCodec(const CodecContext& context, const IndexOptions& index,
                               std::unique_ptr<Codec> inner)
    : type_(context.type),
      kernels_(context.kernels),
      host_(context.on_host()),
      memory_(context.memory),
      inner_(std::move(inner)),
      unit_(std::max(shortest_unit, inner_->block())),
      index_(context, index, "sparse+thc"),
      first_(static_cast<int>(index_.rounds().size())),
      rounds_(index_.rounds().begin(), index_.rounds().end()) {
  for (RoundInfo info : inner_->rounds()) {
    info.varies |= info.scope == RoundScope::piece;
    rounds_.push_back(info);
  }
  unit_words_.reserve(std::size_t(context.ranks));
}

std::size_t CompactedCodec::capacity(int round, Form form, std::size_t elements) const {
  if (round < first_) return index_.capacity(round, elements);
  if (is_late(round)) return inner_->capacity(round - first_, form, elements);
  std::size_t words = elements / unit_ * inner_->capacity(round - first_, form, unit_);
  if (elements % unit_ != 0) words += inner_->capacity(round - first_, form, elements % unit_);
  return words;
}

void CompactedCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  elements_ = elements;
  index_.reserve(elements, longest_piece);
  inner_->reserve(elements, unit_);
  compacted_ = {memory_, elements * size_of(type_)};
  units_.resize((elements + unit_ - 1) / unit_);
  inner_pieces_.reserve(units_.size());
}

void CompactedCodec::begin(const CallBuffers& call) {
  call_ = call;
  index_.begin(call);
  inner_->begin({.type = call.type,
                 .input = compacted_.data(),
                 .output = compacted_.data(),
                 .step = call.step});
  inner_pieces_.clear();
}

std::span<const CompactedCodec::Unit> CompactedCodec::units_of(const Piece& piece) const {
  return std::span(units_).subspan(piece.first / unit_, (piece.count + unit_ - 1) / unit_);
}

kernels::SparseRun CompactedCodec::run_of(const Unit& unit) const {
  const std::size_t first = unit.inner.first;
  return {size_of(type_), first, std::min(unit_, elements_ - first)};
}

/// Makes the units of a piece, and compacts them.
void CompactedCodec::compact(const Piece& piece, const Agreed& agreed) {
  const SparseIndex::Union positions = index_.union_of(piece, agreed);
  const std::uint64_t* const near = index_.beside_elements(positions, piece);
  for (std::size_t first = piece.first; first < piece.first + piece.count; first += unit_) {
    Unit& unit = units_[first / unit_];
    unit = {.inner = {.first = first, .index = first / unit_}, .outer = piece};
    const kernels::SparseRun run = run_of(unit);
    const std::size_t word = (first - piece.first) / 64;
    unit.inner.count =
        host_.sparse.count_bits(positions.bits + word, kernels::bitmap_words(run.count));
    kernels_.sparse.compact(run, call_.input_at(first), near + word, compacted_at(first));
  }
}

void CompactedCodec::expand(const Piece& piece, const Agreed& agreed) {
  const std::uint64_t* const bits = index_.beside_elements(index_.union_of(piece, agreed), piece);
  for (const Unit& unit : units_of(piece)) {
    const std::size_t first = unit.inner.first;
    kernels_.sparse.expand(run_of(unit), compacted_at(first), bits + (first - piece.first) / 64,
                           call_.output_at(first));
  }
}

std::size_t CompactedCodec::late_elements(int round, const Agreed& agreed) {
  inner_pieces_.clear();
  for (const Unit& unit : units_)
    if (unit.inner.count != 0) inner_pieces_.push_back(unit.inner);
  late_left_ = inner_->late_elements(round - first_, UnitsAgreed(*this, agreed));
  return late_left_;
}

std::size_t CompactedCodec::encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                                   Words out) {
  if (round < first_) return index_.encode(round, piece, agreed, out);
  const UnitsAgreed inner_agreed(*this, agreed);
  if (is_late(round)) return inner_->encode(round - first_, form, piece, inner_agreed, out);
  if (round == first_) compact(piece, agreed);
  std::size_t words = 0;
  for (const Unit& unit : units_of(piece))
    if (unit.inner.count != 0)
      words += inner_->encode(round - first_, form, unit.inner, inner_agreed, out.subspan(words));
  return words;
}

void CompactedCodec::expect_length(int inner_round, Form form, const Piece& piece,
                                   std::size_t words) const {
  std::size_t right = 0;
  for (const Unit& unit : units_of(piece)) right += words_of(inner_round, form, unit);
  if (words != right)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(words) +
                                          " words came where the index says " +
                                          std::to_string(right));
}

std::size_t CompactedCodec::widen(int round, const Piece& piece, const Agreed& agreed,
                                  std::span<const ConstWords> contributions, Words sum) {
  if (is_late(round))
    return inner_->widen(round - first_, piece, UnitsAgreed(*this, agreed), contributions, sum);
  for (const ConstWords words : contributions)
    expect_length(round - first_, Form::narrow, piece, words.size());
  const UnitsAgreed inner_agreed(*this, agreed);
  std::size_t narrow = 0, wide = 0;
  for (const Unit& unit : units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = words_of(round - first_, Form::narrow, unit);
    unit_words_.clear();
    for (const ConstWords words : contributions)
      unit_words_.push_back(words.subspan(narrow, length));
    narrow += length;
    wide += inner_->widen(round - first_, unit.inner, inner_agreed, unit_words_, sum.subspan(wide));
  }
  return wide;
}

void CompactedCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                            std::size_t contributions) {
  const UnitsAgreed inner_agreed(*this, agreed);
  if (is_late(round)) {
    inner_->decode(round - first_, piece, inner_agreed, sum, contributions);
    late_left_ -= piece.count;
    // Which elements came is the inner codec's affair, and late rounds are rare: all are written
    // again. Where the payload is still to come its decoding overwrites them.
    if (late_left_ == 0)
      for (const Piece& outer : agreed.pieces()) expand(outer, agreed);
    return;
  }
  expect_length(round - first_, Form::wide, piece, sum.size());
  std::size_t begin = 0;
  for (const Unit& unit : units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = words_of(round - first_, Form::wide, unit);
    inner_->decode(round - first_, unit.inner, inner_agreed, sum.subspan(begin, length),
                   contributions);
    begin += length;
  }
  expand(piece, agreed);
}

}  // namespace cohom
