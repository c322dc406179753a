#include "executor/message_units.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace cohom {

namespace {

constexpr std::size_t line_words = 8;  // 64 bytes: units start on cache lines

std::size_t round_up_to_line(std::size_t words) {
  return (words + line_words - 1) / line_words * line_words;
}

/// Which pieces form the units of a chunk.
std::vector<MessageUnit> group_pieces(const RoundTraits& traits, std::uint32_t schedule_chunks,
                                      std::uint32_t chunk, const Chunking& chunking) {
  std::vector<MessageUnit> units;
  if (traits.scope == RoundScope::vector) {
    if (!chunking.pieces().empty()) units.push_back({0, chunking.pieces().size()});
  } else if (schedule_chunks == chunking.chunks()) {
    for (std::size_t piece : chunking.pieces_of_chunk(chunk)) units.push_back({piece, 1});
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

/// How long its payloads can be.
void measure_unit(const Round& round, std::size_t ranks, std::span<const Piece> pieces,
                  ElementType type, MessageUnit& unit) {
  std::size_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.count;
  const auto capacity = [&](std::size_t contributions) {
    if (round.traits().scope == RoundScope::vector) return round.capacity(contributions, elements);
    std::size_t words = 0;
    for (const Piece& piece : pieces) words += round.capacity(contributions, piece.count);
    return words;
  };
  unit.capacity[std::size_t(Form::wide)] = capacity(ranks);
  if (round.traits().narrow()) unit.capacity[std::size_t(Form::narrow)] = capacity(alone);
  unit.finished_words = round.traits().finishes_sums() ? round.finished_capacity(ranks, elements)
                                                       : unit.capacity[std::size_t(Form::wide)];
  expect_countable(unit);
  unit.aliasable = unit.pieces == 1 && elements * size_of(type) % 8 == 0;
}

}  // namespace

std::size_t words_to_next_unit(const MessageUnit& unit, Form form) {
  return round_up_to_line(unit.capacity[static_cast<std::size_t>(form)]);
}

MessageUnits::MessageUnits(const Round& round, int ranks, std::uint32_t chunks,
                           const Chunking& chunking, ElementType type)
    : units_(chunks),
      piece_chunk_(chunking.pieces().size()),
      piece_unit_(chunking.pieces().size()) {
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    units_[chunk] = group_pieces(round.traits(), chunks, chunk, chunking);
    std::size_t offset[2] = {0, 0};
    for (MessageUnit& unit : units_[chunk]) {
      measure_unit(round, static_cast<std::size_t>(ranks),
                   chunking.pieces().subspan(unit.first_piece, unit.pieces), type, unit);
      for (const Form form : {Form::narrow, Form::wide}) {
        const auto f = static_cast<std::size_t>(form);
        unit.offset[f] = offset[f];
        offset[f] += words_to_next_unit(unit, form);
      }
    }
    add_pieces(chunk);
  }
}

void MessageUnits::add_pieces(std::uint32_t chunk) {
  for (std::size_t u = 0; u < units_[chunk].size(); ++u) {
    const MessageUnit& unit = units_[chunk][u];
    for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p) {
      piece_chunk_[p] = chunk;
      piece_unit_[p] = static_cast<std::uint32_t>(u);
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
