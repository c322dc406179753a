#pragma once
// PayloadLocations: where the payload of each slot and unit lies, and how long it is: in the
// workspace, or in the user's memory where its words are the elements themselves.

#include "executor/piece_extents.hpp"
#include "executor/round_layout.hpp"
#include "memory/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohom {

class PayloadLocations {
 public:
  /// `layout` and `pieces` outlive it.
  PayloadLocations(const Round& round, const RoundLayout& layout, Memory& memory,
                   std::span<const Piece> pieces, std::size_t element_size);

  void set_workspace(std::uint64_t* words) { workspace_ = words; }
  /// The user's memory of a call, where words may lie in it; null where they may not.
  void begin(const std::byte* input, std::byte* output) {
    input_ = input;
    output_ = output;
    std::ranges::fill(lent_, nullptr);
  }
  /// The slot's unit is read where its sender has it, until it is given back.
  void set_lent(std::uint32_t slot, std::uint32_t unit, const std::byte* words) {
    lent_[layout_.slot_index(slot, unit)] = words;
  }
  /// Where it is read, if that is at its sender, which it is no longer; else null. A slot that was
  /// not lent may have readers in workers: nothing of it is written.
  const std::byte* end_lent(std::uint32_t slot, std::uint32_t unit) {
    const std::byte*& lent = lent_[layout_.slot_index(slot, unit)];
    return lent == nullptr ? nullptr : std::exchange(lent, nullptr);
  }

  [[nodiscard]] const Piece& piece(std::size_t index) const { return pieces_[index]; }
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }
  /// The one piece of a payload unit.
  [[nodiscard]] const Piece& piece_of(std::uint32_t slot, std::uint32_t unit) const {
    return pieces_[layout_.unit(slot, unit).first_piece];
  }

  /// Bytes of the elements of pieces that are listed side by side.
  [[nodiscard]] std::size_t element_bytes(std::size_t first_piece, std::size_t pieces) const {
    std::size_t elements = 0;
    for (const Piece& piece : pieces_.subspan(first_piece, pieces)) elements += piece.count;
    return elements * element_size_;
  }

  [[nodiscard]] std::byte* address(std::uint32_t slot, std::uint32_t unit) const;
  /// As much as a payload of the slot may take.
  [[nodiscard]] Payload space(std::uint32_t slot, std::uint32_t unit, Form form) const {
    return {reinterpret_cast<std::uint64_t*>(address(slot, unit)),
            layout_.unit(slot, unit).capacity[std::size_t(form)]};
  }
  [[nodiscard]] ConstPayload words(std::uint32_t slot, std::uint32_t unit) const;
  void set_length(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
    lengths_[layout_.slot_index(slot, unit)] = static_cast<std::uint32_t>(words);
  }

  /// Of pieces that lie side by side in a unit which may have more.
  [[nodiscard]] ConstPayload words(std::uint32_t slot, std::uint32_t unit, std::size_t first_piece,
                                   std::size_t pieces = 1) const;
  /// Words of a divided unit up to the end of a piece, whose words are there.
  void set_piece_end(std::uint32_t slot, std::uint32_t unit, std::size_t piece, std::size_t words) {
    extents_.set_end(slot, unit, piece, words);
  }
  /// All pieces of a divided unit are there: what its header says, if it has one. In one thread.
  void write_header(std::uint32_t slot, std::uint32_t unit);
  /// A divided unit has arrived with so many words. @throws Error(transport)
  void take_pieces(std::uint32_t slot, std::uint32_t unit, std::size_t words);

  [[nodiscard]] bool input_is_used() const { return input_ != nullptr; }
  /// Whether the slot's unit lies in the user's output.
  [[nodiscard]] bool in_output(std::uint32_t slot, std::uint32_t unit) const;
  /// Whether the slot's unit lies where the user's input is.
  [[nodiscard]] bool in_input(std::uint32_t slot, std::uint32_t unit) const;

 private:
  [[nodiscard]] std::size_t first_byte(const MessageUnit& unit) const {
    return pieces_[unit.first_piece].first * element_size_;
  }

  const RoundLayout& layout_;
  Memory& memory_;
  PieceExtents extents_;
  std::vector<std::uint64_t> header_;  ///< of a unit
  std::span<const Piece> pieces_;
  std::size_t element_size_;
  std::vector<std::uint32_t> lengths_;  ///< words, by slot and unit
  std::vector<const std::byte*> lent_;  ///< by slot and unit; null: it lies here
  std::uint64_t* workspace_ = nullptr;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
};

/// @throws Error(transport)
void expect_length(std::size_t bytes, std::size_t right);

}  // namespace cohom
