#include "executor/piece_extents.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

PieceExtents::PieceExtents(const Round& round, const RoundLayout& layout,
                           std::span<const Piece> pieces)
    : round_(round), layout_(layout), pieces_(pieces) {
  if (layout.schedule().chunks == 1) return;
  base_.resize(layout.slot_units());
  std::size_t ends = 0;
  for (std::uint32_t slot = 0; slot < layout.schedule().slots.size(); ++slot) {
    const auto& units = layout.units_of(slot);
    for (std::uint32_t unit = 0; unit < units.size(); ++unit) {
      base_[layout.slot_index(slot, unit)] = static_cast<std::uint32_t>(ends);
      if (units[unit].divided) ends += units[unit].pieces;
    }
  }
  ends_.resize(ends);
}

std::size_t PieceExtents::begin(std::uint32_t slot, std::uint32_t unit, std::size_t piece) const {
  const MessageUnit& whole = layout_.unit(slot, unit);
  return piece == whole.first_piece ? whole.header : ends_[index(slot, unit, piece) - 1];
}

std::size_t PieceExtents::end(std::uint32_t slot, std::uint32_t unit, std::size_t piece) const {
  return ends_[index(slot, unit, piece)];
}

void PieceExtents::set_end(std::uint32_t slot, std::uint32_t unit, std::size_t piece,
                           std::size_t words) {
  ends_[index(slot, unit, piece)] = static_cast<std::uint32_t>(words);
}

/// Most words of a piece in a slot.
std::size_t PieceExtents::capacity(std::uint32_t slot, std::size_t piece) const {
  const Slot& s = layout_.schedule().slots[slot];
  const std::size_t elements = pieces_[piece].count;
  if (layout_.is_complete(slot) && round_.traits().finishes_sums())
    return round_.finished_capacity(s.room, elements);
  return round_.capacity(s.form == Form::narrow ? alone : s.room, elements);
}

void PieceExtents::take(std::uint32_t slot, std::uint32_t unit, ConstPayload header,
                        std::size_t words) {
  const MessageUnit& whole = layout_.unit(slot, unit);
  std::size_t end = whole.header;
  for (std::size_t i = 0; i < whole.pieces; ++i) {
    const std::size_t piece = whole.first_piece + i;
    const std::size_t most = capacity(slot, piece);
    std::size_t length = most;
    if (whole.header != 0) length = static_cast<std::uint32_t>(header[i / 2] >> (i % 2 * 32));
    if (length > most)
      throw Error(ErrorKind::transport, "a payload says that a piece has " +
                                            std::to_string(length) + " words; at most " +
                                            std::to_string(most) + " were expected");
    end += length;
    set_end(slot, unit, piece, end);
  }
  if (end != words)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(words) +
                                          " words came whose pieces take " + std::to_string(end));
}

void PieceExtents::write_header(std::uint32_t slot, std::uint32_t unit, Payload header) const {
  const MessageUnit& whole = layout_.unit(slot, unit);
  for (std::size_t i = 0; i < whole.pieces; ++i) {
    const std::size_t piece = whole.first_piece + i;
    const std::uint64_t length = end(slot, unit, piece) - begin(slot, unit, piece);
    if (i % 2 == 0) header[i / 2] = 0;
    header[i / 2] |= length << (i % 2 * 32);
  }
}

}  // namespace cohom
