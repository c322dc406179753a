#include "codecs/common/compacted_units.hpp"

#include <algorithm>

namespace cohom {
namespace {

/// Long enough that the ragged end of a unit's values is a small part of them, short enough that
/// vectors of tens of KiB still have a chunk for every rank.
constexpr std::size_t min_unit = 16384;

}  // namespace

CompactedUnits::CompactedUnits(const CodecContext& context, std::size_t shortest,
                               SparseIndex& index, const CallBuffers& call)
    : type_(context.type),
      kernels_(context.kernels.sparse),
      host_(context.on_host().sparse),
      memory_(context.memory),
      unit_length_(length(shortest)),
      index_(index),
      call_(call) {}

std::size_t CompactedUnits::length(std::size_t shortest) { return std::max(min_unit, shortest); }

void CompactedUnits::reserve(std::size_t elements, std::size_t unfinished_words) {
  elements_ = elements;
  unfinished_ = {memory_, unfinished_words};
  compacted_ = {memory_, elements * size_of(type_)};
  units_.resize((elements + unit_length_ - 1) / unit_length_);
  inner_pieces_.resize(units_.size());
}

std::span<const CompactedUnits::Unit> CompactedUnits::units_of(const Piece& piece) const {
  return std::span(units_).subspan(piece.first / unit_length_,
                                   (piece.count + unit_length_ - 1) / unit_length_);
}

kernels::SparseRun CompactedUnits::run_of(const Unit& unit) const {
  const std::size_t first = unit.inner.first;
  return {size_of(type_), first, std::min(unit_length_, elements_ - first)};
}

void CompactedUnits::start() {
  for (Unit& unit : units_) unit.known = false;
}

void CompactedUnits::find(const Piece& piece, const SparseIndex::Union& positions) {
  for (std::size_t first = piece.first; first < piece.first + piece.count; first += unit_length_) {
    Unit& unit = units_[first / unit_length_];
    unit = {
        .inner = {.first = first, .index = first / unit_length_}, .outer = piece, .known = true};
    unit.inner.count = host_.count_bits(positions.bits + (first - piece.first) / 64,
                                        kernels::bitmap_words(run_of(unit).count));
    inner_pieces_[unit.inner.index] = unit.inner;
  }
}

void CompactedUnits::compact(const Piece& piece) {
  const SparseIndex::Union positions = index_.union_of(piece);
  find(piece, positions);
  const std::uint64_t* const near = index_.beside_elements(positions, piece);
  for (const Unit& unit : units_of(piece)) {
    const std::size_t first = unit.inner.first;
    kernels_.compact(run_of(unit), call_.input_at(first), near + (first - piece.first) / 64,
                     compacted_at(first));
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

ConstPayload CompactedUnits::set_aside(ConstPayload words) {
  memory_.copy(unfinished_.data(), words.data(), words.size_bytes());
  return {unfinished_.data(), words.size()};
}

void CompactedUnits::bring_back(ConstPayload words, Payload to) {
  memory_.copy(to.data(), words.data(), words.size_bytes());
}

}  // namespace cohom
