#include "codecs/common/compacted.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {
namespace {

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
    for (auto* const sums : {&unit_sums_, &left_}) sums->reserve(traits().grows ? ranks_ : 0);
    inner_.keep_agreed_in(*this);
  }

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return of_units(elements,
                    [&](std::size_t count) { return inner_.capacity(contributions, count); });
  }
  [[nodiscard]] std::size_t finished_capacity(std::size_t ranks,
                                              std::size_t elements) const override {
    return of_units(elements,
                    [&](std::size_t count) { return inner_.finished_capacity(ranks, count); });
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      std::size_t room, Payload sum) override;
  std::size_t widen(const Piece& piece, std::span<const PartialSum> sources, std::size_t room,
                    Payload sum) override;
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  /// Of the inner round: words of a unit are a part of its piece's.
  [[nodiscard]] ConstPayload words(const Piece& inner) const override;
  /// Of a unit; none without a value.
  [[nodiscard]] std::size_t words_of(std::size_t contributions,
                                     const CompactedUnits::Unit& unit) const {
    return unit.inner.count == 0 ? 0 : inner_.length(contributions, unit.inner);
  }
  /// Of a unit's complete sum as it is decoded.
  [[nodiscard]] std::size_t complete_words_of(const CompactedUnits::Unit& unit) const {
    if (!inner_.traits().finishes_sums() || ranks_ == 1) return words_of(ranks_, unit);
    return unit.inner.count == 0 ? 0 : inner_.finished_capacity(ranks_, unit.inner.count);
  }
  /// Words of the units of so many elements, none of which is zero.
  template <class Capacity>
  [[nodiscard]] std::size_t of_units(std::size_t elements, Capacity capacity) const;
  /// `words_of`: of a unit.
  template <class WordsOf>
  void expect_length(const Piece& piece, std::size_t words, WordsOf words_of) const;

  Round& inner_;
  std::size_t ranks_;
  CompactedUnits& units_;
  bool compacts_;
  std::vector<ConstPayload> unit_words_;
  std::vector<PartialSum> unit_sums_, left_;  ///< of one call of widen()
};

ConstPayload UnitsRound::words(const Piece& inner) const {
  const CompactedUnits::Unit& unit = units_.unit_of(inner);
  std::size_t begin = 0;
  for (const auto& before : units_.units_of(unit.outer)) {
    if (&before == &unit) break;
    begin += words_of(ranks_, before);
  }
  const ConstPayload all = agreed(unit.outer);
  const std::size_t length = words_of(ranks_, unit);
  // Where this rank has contributed, what is agreed on is as long as that. It may have not.
  if (begin + length > all.size())
    throw Error(ErrorKind::transport, "round " + std::string(traits().name) + " agreed on " +
                                          std::to_string(all.size()) +
                                          " words where the index says more");
  return all.subspan(begin, length);
}

template <class Capacity>
std::size_t UnitsRound::of_units(std::size_t elements, Capacity capacity) const {
  const std::size_t unit = units_.unit_length();
  std::size_t words = elements / unit * capacity(unit);
  if (elements % unit != 0) words += capacity(elements % unit);
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

template <class WordsOf>
void UnitsRound::expect_length(const Piece& piece, std::size_t words, WordsOf words_of) const {
  std::size_t right = 0;
  for (const auto& unit : units_.units_of(piece)) right += words_of(unit);
  if (words != right)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(words) +
                                          " words came where the index says " +
                                          std::to_string(right));
}

std::size_t UnitsRound::promote(const Piece& piece, std::span<const ConstPayload> contributions,
                                std::size_t room, Payload sum) {
  units_.know(piece);
  for (const ConstPayload words : contributions)
    expect_length(piece, words.size(), [&](const auto& unit) { return words_of(alone, unit); });
  std::size_t narrow = 0, wide = 0;
  for (const auto& unit : units_.units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = words_of(alone, unit);
    unit_words_.clear();
    for (const ConstPayload words : contributions)
      unit_words_.push_back(words.subspan(narrow, length));
    narrow += length;
    wide += inner_.promote(unit.inner, unit_words_, room, sum.subspan(wide));
  }
  return wide;
}

std::size_t UnitsRound::widen(const Piece& piece, std::span<const PartialSum> sources,
                              std::size_t room, Payload sum) {
  for (const PartialSum& source : sources)
    expect_length(piece, source.words.size(),
                  [&](const auto& unit) { return words_of(source.room, unit); });
  std::size_t words = 0;
  left_.assign(sources.begin(), sources.end());
  for (const auto& unit : units_.units_of(piece)) {
    if (unit.inner.count == 0) continue;
    unit_sums_.clear();
    for (PartialSum& left : left_) {
      const std::size_t length = words_of(left.room, unit);
      unit_sums_.push_back({left.words.first(length), left.room});
      left.words = left.words.subspan(length);
    }
    words += inner_.widen(unit.inner, unit_sums_, room, sum.subspan(words));
  }
  return words;
}

std::size_t UnitsRound::finish(const Piece& piece, Payload sum, std::size_t words) {
  expect_length(piece, words, [&](const auto& unit) { return words_of(ranks_, unit); });
  // A finished unit may be longer than it was.
  const ConstPayload unfinished = units_.set_aside(sum.first(words));
  std::size_t begin = 0, finished = 0;
  for (const auto& unit : units_.units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = words_of(ranks_, unit);
    units_.bring_back(unfinished.subspan(begin, length), sum.subspan(finished));
    begin += length;
    finished += inner_.finish(unit.inner, sum.subspan(finished), length);
  }
  return finished;
}

void UnitsRound::decode(const Piece& piece, ConstPayload sum, std::size_t contributions) {
  units_.know(piece);
  expect_length(piece, sum.size(), [&](const auto& unit) { return complete_words_of(unit); });
  std::size_t begin = 0;
  for (const auto& unit : units_.units_of(piece)) {
    if (unit.inner.count == 0) continue;
    const std::size_t length = complete_words_of(unit);
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
                      std::size_t room, Payload sum) override {
    return inner_.promote(piece, contributions, room, sum);
  }
  [[nodiscard]] std::size_t finished_capacity(std::size_t ranks,
                                              std::size_t elements) const override {
    return inner_.finished_capacity(ranks, elements);
  }
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override {
    return inner_.finish(piece, sum, words);
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

CompactedCodec::CompactedCodec(const CodecContext& context, std::string_view name,
                               const IndexOptions& index, std::unique_ptr<Codec> inner)
    : ranks_(static_cast<std::size_t>(context.ranks)),
      inner_(std::move(inner)),
      index_(context, index, name, call_),
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
  inner_->reserve(elements, units_.unit_length());
  std::size_t unfinished = 0;
  for (const auto& round : rounds_)
    if (round->traits().finishes_sums() && !round->traits().is_fallback())
      unfinished = std::max(unfinished, round->capacity(ranks_, longest_piece));
  units_.reserve(elements, unfinished);
}

void CompactedCodec::start() {
  index_.start();
  units_.start();
  inner_->begin({.type = call_.type,
                 .input = units_.compacted(),
                 .output = units_.compacted(),
                 .step = call_.step,
                 .pieces = units_.inner_pieces()});
}

}  // namespace cohom
