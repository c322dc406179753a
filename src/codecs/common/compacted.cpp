#include "codecs/common/compacted.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {
namespace {

/// Long enough that the ragged end of a unit's values is a small part of them, short enough that
/// vectors of tens of KiB still have a chunk for every rank.
constexpr std::size_t min_unit = 16384;

RoundTraits with_varying_length(RoundTraits traits) {
  if (traits.scope == RoundScope::piece) traits.length = PayloadLength::varying;
  return traits;
}

/// An inner round, unit by unit.
class UnitsRound final : public Round, private AgreedPayload {
 public:
  /// `compacts`: it is the first that sees the elements of a call. What is referred to outlives it.
  UnitsRound(Round& inner, int ranks, CompactedUnits& units, bool compacts)
      : Round(with_varying_length(inner.traits())),
        inner_(inner),
        ranks_(static_cast<std::size_t>(ranks)),
        units_(units),
        compacts_(compacts) {
    unit_words_.reserve(ranks_);
    inner_.keep_agreed_in(*this);
  }

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override;
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      Payload sum) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  /// Of the inner round: words of a unit are a part of its piece's.
  [[nodiscard]] ConstPayload words(const Piece& inner) const override;
  /// Of a unit; none without a value.
  [[nodiscard]] std::size_t words_of(std::size_t contributions,
                                     const CompactedUnits::Unit& unit) const {
    return unit.inner.count == 0 ? 0 : inner_.capacity(contributions, unit.inner.count);
  }
  void expect_length(std::size_t contributions, const Piece& piece, std::size_t words) const;

  Round& inner_;
  std::size_t ranks_;
  CompactedUnits& units_;
  bool compacts_;
  std::vector<ConstPayload> unit_words_;
};

ConstPayload UnitsRound::words(const Piece& inner) const {
  const CompactedUnits::Unit& unit = units_.unit_of(inner);
  std::size_t begin = 0;
  for (const auto& before : units_.units_of(unit.outer)) {
    if (&before == &unit) break;
    begin += words_of(ranks_, before);
  }
  return agreed(unit.outer).subspan(begin, words_of(ranks_, unit));
}

std::size_t UnitsRound::capacity(std::size_t contributions, std::size_t elements) const {
  const std::size_t unit = units_.unit();
  std::size_t words = elements / unit * inner_.capacity(contributions, unit);
  if (elements % unit != 0) words += inner_.capacity(contributions, elements % unit);
  return words;
}

std::size_t UnitsRound::encode(std::size_t contributions, const Piece& piece, Payload out) {
  if (compacts_) units_.compact(piece);
  std::size_t words = 0;
  for (const auto& unit : units_.units_of(piece))
    if (unit.inner.count != 0)
      words += inner_.encode(contributions, unit.inner, out.subspan(words));
  return words;
}

void UnitsRound::expect_length(std::size_t contributions, const Piece& piece,
                               std::size_t words) const {
  std::size_t right = 0;
  for (const auto& unit : units_.units_of(piece)) right += words_of(contributions, unit);
  if (words != right)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(words) +
                                          " words came where the index says " +
                                          std::to_string(right));
}

std::size_t UnitsRound::promote(const Piece& piece, std::span<const ConstPayload> contributions,
                                Payload sum) {
  for (const ConstPayload words : contributions) expect_length(alone, piece, words.size());
  std::size_t narrow = 0, wide = 0;
  for (const auto& unit : units_.units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = words_of(alone, unit);
    unit_words_.clear();
    for (const ConstPayload words : contributions)
      unit_words_.push_back(words.subspan(narrow, length));
    narrow += length;
    wide += inner_.promote(unit.inner, unit_words_, sum.subspan(wide));
  }
  return wide;
}

void UnitsRound::decode(const Piece& piece, ConstPayload sum, std::size_t contributions) {
  expect_length(ranks_, piece, sum.size());
  std::size_t begin = 0;
  for (const auto& unit : units_.units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = words_of(ranks_, unit);
    inner_.decode(unit.inner, sum.subspan(begin, length), contributions);
    begin += length;
  }
  units_.expand(piece);
}

/// An inner fallback round: its vector is its own, and no units cut it.
class FallbackUnitsRound final : public Round {
 public:
  /// What is referred to outlives it.
  FallbackUnitsRound(Round& inner, CompactedUnits& units, const CallBuffers& call)
      : Round(inner.traits()), inner_(inner), units_(units), call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return inner_.capacity(contributions, elements);
  }
  std::size_t fallback_elements() override { return left_ = inner_.fallback_elements(); }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override {
    return inner_.encode(contributions, piece, out);
  }
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      Payload sum) override {
    return inner_.promote(piece, contributions, sum);
  }
  /// Which elements came is the inner codec's affair, and fallback rounds are rare: all are written
  /// again. Where the payload is still to come its decoding overwrites them.
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override {
    inner_.decode(piece, sum, contributions);
    left_ -= piece.count;
    if (left_ == 0)
      for (const Piece& outer : call_.pieces) units_.expand(outer);
  }

 private:
  Round& inner_;
  CompactedUnits& units_;
  const CallBuffers& call_;
  std::size_t left_ = 0;  ///< elements not decoded yet
};

}  // namespace

CompactedUnits::CompactedUnits(const CodecContext& context, std::size_t shortest,
                               SparseIndex& index, const CallBuffers& call)
    : type_(context.type),
      kernels_(context.kernels.sparse),
      host_(context.on_host().sparse),
      memory_(context.memory),
      unit_(length(shortest)),
      index_(index),
      call_(call) {}

std::size_t CompactedUnits::length(std::size_t shortest) { return std::max(min_unit, shortest); }

void CompactedUnits::reserve(std::size_t elements) {
  elements_ = elements;
  compacted_ = {memory_, elements * size_of(type_)};
  units_.resize((elements + unit_ - 1) / unit_);
  inner_pieces_.resize(units_.size());
}

std::span<const CompactedUnits::Unit> CompactedUnits::units_of(const Piece& piece) const {
  return std::span(units_).subspan(piece.first / unit_, (piece.count + unit_ - 1) / unit_);
}

kernels::SparseRun CompactedUnits::run_of(const Unit& unit) const {
  const std::size_t first = unit.inner.first;
  return {size_of(type_), first, std::min(unit_, elements_ - first)};
}

void CompactedUnits::compact(const Piece& piece) {
  const SparseIndex::Union positions = index_.union_of(piece);
  const std::uint64_t* const near = index_.beside_elements(positions, piece);
  for (std::size_t first = piece.first; first < piece.first + piece.count; first += unit_) {
    Unit& unit = units_[first / unit_];
    unit = {.inner = {.first = first, .index = first / unit_}, .outer = piece};
    const kernels::SparseRun run = run_of(unit);
    const std::size_t word = (first - piece.first) / 64;
    unit.inner.count = host_.count_bits(positions.bits + word, kernels::bitmap_words(run.count));
    inner_pieces_[unit.inner.index] = unit.inner;
    kernels_.compact(run, call_.input_at(first), near + word, compacted_at(first));
  }
}

void CompactedUnits::expand(const Piece& piece) {
  const std::uint64_t* const bits = index_.beside_elements(index_.union_of(piece), piece);
  for (const Unit& unit : units_of(piece)) {
    const std::size_t first = unit.inner.first;
    kernels_.expand(run_of(unit), compacted_at(first), bits + (first - piece.first) / 64,
                    call_.output_at(first));
  }
}

CompactedCodec::CompactedCodec(const CodecContext& context, const IndexOptions& index,
                               std::unique_ptr<Codec> inner)
    : inner_(std::move(inner)),
      index_(context, index, "sparse+thc", call_),
      units_(context, inner_->block(), index_, call_) {
  for (Round* const round : index_.rounds()) add(*round);
  for (Round* const round : inner_->rounds()) {
    if (round->traits().is_fallback())
      rounds_.push_back(std::make_unique<FallbackUnitsRound>(*round, units_, call_));
    else
      rounds_.push_back(
          std::make_unique<UnitsRound>(*round, context.ranks, units_, rounds_.empty()));
    add(*rounds_.back());
  }
}

void CompactedCodec::reserve(std::size_t elements, std::size_t longest_piece) {
  index_.reserve(elements, longest_piece);
  inner_->reserve(elements, units_.unit());
  units_.reserve(elements);
}

void CompactedCodec::start() {
  index_.start();
  inner_->begin({.type = call_.type,
                 .input = units_.compacted(),
                 .output = units_.compacted(),
                 .step = call_.step,
                 .pieces = units_.inner_pieces()});
}

}  // namespace cohom
