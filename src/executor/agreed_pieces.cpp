#include "executor/agreed_pieces.hpp"

#include <algorithm>

namespace cohom {

AgreedPieces::AgreedPieces(const Round& round, const RoundLayout& layout,
                           const PayloadLocations& locations)
    : layout_(layout),
      locations_(locations),
      agrees_(round.traits().time == RoundTime::before_payload),
      whole_(round.traits().scope == RoundScope::vector) {
  if (!agrees_) return;
  slots_.resize(layout.schedule().chunks);
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
  if (!whole_) {
    // This rank's words are part of the sum, and as many.
    const Extent& last = extents_[added.first_piece + added.pieces - 1];
    expect_length(locations_.words(slot, unit).size() * 8, (last.begin + last.words) * 8);
  }
  slots_[layout_.schedule().slots[slot].chunk] = slot;
  for (std::size_t p = added.first_piece; p < added.first_piece + added.pieces; ++p)
    agreed_[p] = true;
  count_ += added.pieces;
}

ConstPayload AgreedPieces::words(const Piece& piece) const {
  const std::uint32_t slot = slots_[layout_.chunk_of_piece(piece.index)];
  const ConstPayload all = locations_.words(slot, layout_.unit_of_piece(piece.index));
  if (whole_) return all;
  const Extent& extent = extents_[piece.index];
  return all.subspan(extent.begin, extent.words);
}

}  // namespace cohom
