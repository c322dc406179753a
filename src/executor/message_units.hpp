#pragma once
// MessageUnits: which pieces travel together in one round of a plan, and how long their payloads
// can be.

#include "codecs/common/round.hpp"
#include "executor/chunking.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// What goes through the pipeline at once: one piece of a chunk; where the schedule has one chunk
/// and the payload's has more, the pieces of one segment of all chunks; in a round of scope
/// `vector`, all pieces.
struct MessageUnit {
  std::size_t first_piece = 0;
  std::size_t pieces = 0;
  std::size_t offset[2] = {0, 0};    ///< words before it in a buffer, by form
  std::size_t capacity[2] = {0, 0};  ///< words, by form
  std::size_t finished_words = 0;    ///< words of a complete sum on its way
  bool aliasable = false;            ///< one piece whose elements fill whole words
};

class MessageUnits {
 public:
  /// Units of a round whose schedule has so many ranks and chunks.
  MessageUnits(const Round& round, int ranks, std::uint32_t chunks, const Chunking& chunking,
               ElementType type);

  [[nodiscard]] const std::vector<MessageUnit>& of_chunk(std::uint32_t chunk) const {
    return units_[chunk];
  }
  /// Words of the longest unit.
  [[nodiscard]] std::size_t longest(Form form) const;

  /// The chunk of the schedule that a piece belongs to, and the unit of that chunk.
  [[nodiscard]] std::uint32_t chunk_of_piece(std::size_t piece) const {
    return piece_chunk_[piece];
  }
  [[nodiscard]] std::uint32_t unit_of_piece(std::size_t piece) const { return piece_unit_[piece]; }

 private:
  void add_pieces(std::uint32_t chunk);

  std::vector<std::vector<MessageUnit>> units_;  ///< by chunk
  std::vector<std::uint32_t> piece_chunk_, piece_unit_;
};

/// Words that a unit's payload takes in a buffer: the next one begins on a cache line.
std::size_t words_to_next_unit(const MessageUnit& unit, Form form);

}  // namespace cohom
