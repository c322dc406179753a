#pragma once
// MessageUnits: which pieces travel together in one round of a plan, and how long their payloads
// can be.

#include "codecs/common/round.hpp"
#include "executor/chunking.hpp"
#include "schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

/// What goes through the pipeline at once: one piece of each chunk of a slot, those of one number;
/// where the schedule has one chunk and the payload's has more, the pieces of one segment of all
/// chunks; in a round of scope `vector`, all pieces.
struct MessageUnit {
  std::size_t first_piece = 0;
  std::size_t pieces = 0;
  /// Several pieces that are merged and decoded one by one, or sent in parts.
  bool divided = false;
  /// Words in front of the pieces' own, which say how many these are (docs/wire-format.md).
  std::size_t header = 0;
  std::size_t offset[2] = {0, 0};    ///< words before it in a buffer, by form
  std::size_t capacity[2] = {0, 0};  ///< words, by form
  std::size_t finished_words = 0;    ///< words of a complete sum on its way
  bool aliasable = false;            ///< one piece whose elements fill whole words
};

class MessageUnits {
 public:
  /// Units of the slots of a round's schedule.
  MessageUnits(const Round& round, const Schedule& schedule, const Chunking& chunking,
               ElementType type);

  [[nodiscard]] const std::vector<MessageUnit>& of_slot(std::uint32_t slot) const {
    return units_[of_slot_[slot]];
  }
  /// Words of the longest unit.
  [[nodiscard]] std::size_t longest(Form form) const;

 private:
  std::vector<std::vector<MessageUnit>>
      units_;  ///< by range of chunks, room, and whether sums come finished
  std::vector<std::uint32_t> of_slot_;  ///< by slot: an index of units_
};

/// Words of the lengths of so many pieces: 32 bits each, the first in the lower half of a word.
std::size_t length_words(std::size_t pieces);

/// Words that a unit's payload takes in a buffer: the next one begins on a cache line.
std::size_t words_to_next_unit(const MessageUnit& unit, Form form);

}  // namespace cohom
