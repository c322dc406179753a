#include "executor/agreed_pieces.hpp"

#include <algorithm>

namespace cohom {

AgreedPieces::AgreedPieces(const Round& round, const RoundLayout& layout,
                           const PayloadLocations& locations)
    : layout_(layout),
      locations_(locations),
      agrees_(round.traits().time == RoundTime::before_payload),
      whole_(round.traits().scope == RoundScope::vector),
      has_chunks_(layout.schedule().chunks > 1) {
  if (!agrees_) return;
  places_.resize(locations.pieces());
  extents_.resize(locations.pieces());
  agreed_.reserve(locations.pieces());
}

void AgreedPieces::begin() {
  agreed_.assign(extents_.size(), false);
  std::ranges::fill(extents_, Extent{});
  count_ = 0;
}

void AgreedPieces::add(std::uint32_t slot, std::uint32_t unit) {
  const MessageUnit& added = layout_.unit(slot, unit);
  if (!whole_) expect_own_length(slot, unit);
  for (std::size_t p = added.first_piece; p < added.first_piece + added.pieces; ++p) {
    places_[p] = {slot, unit};
    agreed_[p] = true;
  }
  count_ += added.pieces;
}

/// This rank's words are part of the sum, and as many.
void AgreedPieces::expect_own_length(std::uint32_t slot, std::uint32_t unit) const {
  const MessageUnit& added = layout_.unit(slot, unit);
  if (!has_chunks_) {
    const Extent& last = extents_[added.first_piece + added.pieces - 1];
    return expect_length(locations_.words(slot, unit).size() * 8, (last.begin + last.words) * 8);
  }
  for (std::size_t p = added.first_piece; p < added.first_piece + added.pieces; ++p)
    expect_length(locations_.words(slot, unit, p).size() * 8, extents_[p].words * 8);
}

ConstPayload AgreedPieces::words(const Piece& piece) const {
  const auto [slot, unit] = places_[piece.index];
  if (has_chunks_) return locations_.words(slot, unit, piece.index);
  const ConstPayload all = locations_.words(slot, unit);
  if (whole_) return all;
  const Extent& extent = extents_[piece.index];
  return all.subspan(extent.begin, extent.words);
}

}  // namespace cohom
