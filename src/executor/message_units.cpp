#include "executor/message_units.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace cohom {

namespace {

constexpr std::size_t line_words = 8;  // 64 bytes: units start on cache lines

std::size_t round_up_to_line(std::size_t words) {
  return (words + line_words - 1) / line_words * line_words;
}

/// One piece of each chunk that has one of that number. Chunks that have fewer lie behind the
/// others, and pieces of one number lie side by side.
std::vector<MessageUnit> group_by_number(const ChunkRange& chunks, const Chunking& chunking) {
  std::vector<MessageUnit> units;
  for (std::size_t chunk = chunks.first; chunk < chunks.end(); ++chunk) {
    const auto pieces = chunking.pieces_of_chunk(chunk);
    for (std::size_t number = 0; number < pieces.size(); ++number) {
      if (number == units.size()) units.push_back({pieces[number], 0});
      ++units[number].pieces;
    }
  }
  return units;
}

/// Which pieces form the units of chunks.
std::vector<MessageUnit> group_pieces(const RoundTraits& traits, std::uint32_t schedule_chunks,
                                      const ChunkRange& chunks, const Chunking& chunking) {
  std::vector<MessageUnit> units;
  if (traits.scope == RoundScope::vector) {
    if (!chunking.pieces().empty()) units.push_back({0, chunking.pieces().size()});
  } else if (schedule_chunks == chunking.chunks()) {
    units = group_by_number(chunks, chunking);
    for (MessageUnit& unit : units) {
      unit.divided = schedule_chunks > 1 && unit.pieces > 1;
      unit.header = unit.divided && traits.varies() ? length_words(unit.pieces) : 0;
    }
  } else {
    for (std::size_t segment = 0; segment < chunking.piece_numbers(); ++segment) {
      const std::size_t begin = chunking.first_of_piece_number(segment);
      units.push_back({begin, chunking.first_of_piece_number(segment + 1) - begin});
    }
  }
  return units;
}

/// A unit's bytes are counted in 32 bits.
void expect_countable(const MessageUnit& unit) {
  const std::size_t words = std::max(unit.capacity[0], unit.capacity[1]);
  if (words > std::numeric_limits<std::uint32_t>::max() / 8)
    throw Error(ErrorKind::invalid_argument, "the segment makes messages of " +
                                                 std::to_string(words) +
                                                 " words; take a shorter segment");
}

/// Whose words have room for how many contributions, at most and in this slot.
struct Room {
  std::size_t ranks = 1;
  std::size_t slot = 1;
  bool finished = false;  ///< the slot's words come finished
};

/// By slot: whether it is a complete sum that somebody else has finished. Who finishes a sum does
/// it in place, and needs room for the words before.
std::vector<bool> come_finished(const Round& round, const Schedule& schedule) {
  std::vector<bool> come(schedule.slots.size());
  if (!round.traits().finishes_sums() || schedule.ranks == 1) return come;
  for (const Step& step : schedule.steps)
    if (step.kind == StepKind::receive || step.kind == StepKind::join)
      come[step.result] =
          schedule.slots[step.result].contributions == static_cast<std::uint32_t>(schedule.ranks);
  return come;
}

/// How long its payloads can be.
void measure_unit(const Round& round, const Room& room, std::span<const Piece> pieces,
                  ElementType type, MessageUnit& unit) {
  std::size_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.count;
  const auto capacity = [&](std::size_t contributions) {
    if (round.traits().scope == RoundScope::vector) return round.capacity(contributions, elements);
    std::size_t words = unit.header;
    for (const Piece& piece : pieces) words += round.capacity(contributions, piece.count);
    return words;
  };
  const auto finished = [&] {
    if (!unit.divided) return round.finished_capacity(room.ranks, elements);
    std::size_t words = unit.header;
    for (const Piece& piece : pieces) words += round.finished_capacity(room.ranks, piece.count);
    return words;
  };
  unit.capacity[std::size_t(Form::wide)] = capacity(room.slot);
  if (round.traits().narrow()) unit.capacity[std::size_t(Form::narrow)] = capacity(alone);
  unit.finished_words =
      round.traits().finishes_sums() ? finished() : unit.capacity[std::size_t(Form::wide)];
  if (room.finished) unit.capacity[std::size_t(Form::wide)] = unit.finished_words;
  expect_countable(unit);
  unit.aliasable = unit.pieces == 1 && elements * size_of(type) % 8 == 0;
}

}  // namespace

std::size_t words_to_next_unit(const MessageUnit& unit, Form form) {
  return round_up_to_line(unit.capacity[static_cast<std::size_t>(form)]);
}

std::size_t length_words(std::size_t pieces) { return (pieces + 1) / 2; }

MessageUnits::MessageUnits(const Round& round, const Schedule& schedule, const Chunking& chunking,
                           ElementType type) {
  std::map<std::tuple<ChunkRange, std::uint32_t, bool>, std::uint32_t> known;
  const std::vector<bool> finished = come_finished(round, schedule);
  for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
    const Slot& slot = schedule.slots[s];
    const auto [alike, is_new] = known.try_emplace(std::tuple(slot.chunks, slot.room, finished[s]),
                                                   static_cast<std::uint32_t>(units_.size()));
    of_slot_.push_back(alike->second);
    if (!is_new) continue;
    units_.push_back(group_pieces(round.traits(), schedule.chunks, slot.chunks, chunking));
    std::size_t offset[2] = {0, 0};
    for (MessageUnit& unit : units_.back()) {
      measure_unit(round, {static_cast<std::size_t>(schedule.ranks), slot.room, finished[s]},
                   chunking.pieces().subspan(unit.first_piece, unit.pieces), type, unit);
      for (const Form form : {Form::narrow, Form::wide}) {
        const auto f = static_cast<std::size_t>(form);
        unit.offset[f] = offset[f];
        offset[f] += words_to_next_unit(unit, form);
      }
    }
  }
}

std::size_t MessageUnits::longest(Form form) const {
  std::size_t longest = 0;
  for (const auto& units : units_)
    for (const MessageUnit& unit : units)
      longest = std::max(longest, unit.capacity[std::size_t(form)]);
  return longest;
}

}  // namespace cohom
