#pragma once
// PieceExtents: where the words of each piece lie in the payloads of divided units.
//
// Pieces lie one behind the other. Where lengths vary, a header in front of them says how long
// each is; it travels with them.

#include "codecs/common/round.hpp"
#include "executor/round_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

class PieceExtents {
 public:
  /// What is referred to outlives it.
  PieceExtents(const Round& round, const RoundLayout& layout, std::span<const Piece> pieces);

  /// Words before the piece in the payload, and with it. `piece`: an index into all pieces.
  [[nodiscard]] std::size_t begin(std::uint32_t slot, std::uint32_t unit, std::size_t piece) const;
  [[nodiscard]] std::size_t end(std::uint32_t slot, std::uint32_t unit, std::size_t piece) const;
  void set_end(std::uint32_t slot, std::uint32_t unit, std::size_t piece, std::size_t words);

  /// Of a payload that arrived with so many words. `header`: its first words, on the host, where
  /// the unit has any.
  /// @throws Error(transport) unless the pieces are as long as they can be and fill the payload
  void take(std::uint32_t slot, std::uint32_t unit, ConstPayload header, std::size_t words);
  /// Writes the header of a unit whose pieces all have their ends.
  void write_header(std::uint32_t slot, std::uint32_t unit, Payload header) const;

 private:
  [[nodiscard]] std::size_t index(std::uint32_t slot, std::uint32_t unit, std::size_t piece) const {
    return base_[layout_.slot_index(slot, unit)] + piece - layout_.unit(slot, unit).first_piece;
  }
  [[nodiscard]] std::size_t capacity(std::uint32_t slot, std::size_t piece) const;

  const Round& round_;
  const RoundLayout& layout_;
  std::span<const Piece> pieces_;
  std::vector<std::uint32_t> base_;  ///< by slot and unit, of divided ones
  std::vector<std::uint32_t> ends_;  ///< words
};

}  // namespace cohom
