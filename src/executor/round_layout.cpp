#include "executor/round_layout.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace cohom {

namespace {

constexpr std::size_t line_words = 8;  // 64 bytes: units start on cache lines

std::size_t round_up_to_line(std::size_t words) {
  return (words + line_words - 1) / line_words * line_words;
}

/// Which pieces form the units of a chunk.
std::vector<Unit> group_pieces(const RoundTraits& traits, std::uint32_t schedule_chunks,
                               std::uint32_t chunk, const Chunking& chunking) {
  std::vector<Unit> units;
  if (traits.scope == RoundScope::vector) {
    if (!chunking.pieces().empty()) units.push_back({0, chunking.pieces().size()});
  } else if (schedule_chunks == chunking.chunks()) {
    for (std::size_t piece : chunking.pieces_of_chunk(chunk)) units.push_back({piece, 1});
  } else {
    for (std::size_t segment = 0; segment < chunking.segments(); ++segment) {
      const std::size_t begin = chunking.segment_begin(segment);
      units.push_back({begin, chunking.segment_begin(segment + 1) - begin});
    }
  }
  return units;
}

/// A unit's bytes are counted in 32 bits.
void expect_countable(const Unit& unit) {
  const std::size_t words = std::max(unit.capacity[0], unit.capacity[1]);
  if (words > std::numeric_limits<std::uint32_t>::max() / 8)
    throw Error(ErrorKind::invalid_argument, "the segment makes messages of " +
                                                 std::to_string(words) +
                                                 " words; take a shorter segment");
}

}  // namespace

RoundLayout::RoundLayout(const Round& round, Schedule schedule, const Chunking& chunking,
                         ElementType type)
    : schedule_(std::move(schedule)) {
  make_units(round, chunking, type);
  lay_out_buffers();
  index_steps();
  order_encodes();
}

void RoundLayout::make_units(const Round& round, const Chunking& chunking, ElementType type) {
  piece_chunk_.resize(chunking.pieces().size());
  piece_unit_.resize(chunking.pieces().size());
  units_.resize(schedule_.chunks);
  for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
    units_[chunk] = group_pieces(round.traits(), schedule_.chunks, chunk, chunking);
    std::size_t offset[2] = {0, 0};
    for (std::size_t u = 0; u < units_[chunk].size(); ++u) {
      Unit& unit = units_[chunk][u];
      for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p) {
        piece_chunk_[p] = chunk;
        piece_unit_[p] = static_cast<std::uint32_t>(u);
      }
      measure_unit(round, chunking.pieces().subspan(unit.first_piece, unit.pieces), type, unit);
      for (const Form form : {Form::narrow, Form::wide}) {
        const auto f = static_cast<std::size_t>(form);
        unit.offset[f] = offset[f];
        offset[f] += round_up_to_line(unit.capacity[f]);
      }
    }
  }
}

/// How long its payloads can be.
void RoundLayout::measure_unit(const Round& round, std::span<const Piece> pieces, ElementType type,
                               Unit& unit) const {
  const auto ranks = static_cast<std::size_t>(schedule_.ranks);
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
  unit.finished = round.traits().sums == CompleteSums::finished
                      ? round.finished_capacity(ranks, elements)
                      : unit.capacity[std::size_t(Form::wide)];
  expect_countable(unit);
  unit.aliasable = unit.pieces == 1 && elements * size_of(type) % 8 == 0;
}

void RoundLayout::lay_out_buffers() {
  buffer_base_.assign(schedule_.buffers, 0);
  buffer_decoded_.assign(schedule_.buffers, false);
  std::vector<bool> placed(schedule_.buffers, false);
  for (const Slot& slot : schedule_.slots) {
    if (placed[slot.buffer]) continue;
    placed[slot.buffer] = true;
    buffer_base_[slot.buffer] = workspace_words_;
    if (units_[slot.chunk].empty()) continue;
    const Unit& last = units_[slot.chunk].back();
    const auto form = std::size_t(slot.form);
    workspace_words_ += last.offset[form] + round_up_to_line(last.capacity[form]);
  }
}

void RoundLayout::index_steps() {
  consumers_.resize(schedule_.slots.size());
  producer_.resize(schedule_.slots.size());
  contribution_.assign(schedule_.chunks, Step::no_slot);
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    step_base_.push_back(tasks_);
    tasks_ += units_of(step).size();
    if (step.result != Step::no_slot) producer_[step.result] = s;
    if (step.kind == StepKind::encode) contribution_[schedule_.chunk_of(step)] = step.result;
    for (std::uint32_t slot : schedule_.sources_of(step)) {
      consumers_[slot].push_back(s);
      if (step.kind == StepKind::decode) buffer_decoded_[schedule_.slots[slot].buffer] = true;
    }
    if (step.kind != StepKind::offload) continue;
    offloads_ = true;
    keeps_contributions_ &= schedule_.slots[step.result].buffer !=
                            schedule_.slots[schedule_.sources_of(step)[0]].buffer;
  }
  for (const Slot& slot : schedule_.slots) {
    slot_base_.push_back(slot_units_);
    slot_units_ += units_[slot.chunk].size();
  }
}

void RoundLayout::order_encodes() {
  // Unit by unit over all chunks: the order in which agreement arrives, and in which the first
  // segments of every chunk can travel early.
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    if (step.kind != StepKind::encode) continue;
    const auto& readers = consumers_[step.result];
    const bool sent = std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
      const StepKind kind = schedule_.steps[reader].kind;
      return kind == StepKind::send || kind == StepKind::offload;
    });
    auto& list = sent ? encodes_for_send_ : encodes_for_merge_;
    for (std::uint32_t unit = 0; unit < units_of(step).size(); ++unit) list.push_back({s, unit});
  }
  for (auto* list : {&encodes_for_send_, &encodes_for_merge_})
    std::stable_sort(list->begin(), list->end(),
                     [](const Task& a, const Task& b) { return a.unit < b.unit; });
}

std::size_t RoundLayout::longest_unit(Form form) const {
  std::size_t longest = 0;
  for (const auto& units : units_)
    for (const Unit& unit : units) longest = std::max(longest, unit.capacity[std::size_t(form)]);
  return longest;
}

std::size_t RoundLayout::workspace_offset(std::uint32_t slot, std::uint32_t unit) const {
  const Slot& s = schedule_.slots[slot];
  return buffer_base_[s.buffer] + units_[s.chunk][unit].offset[std::size_t(s.form)];
}

}  // namespace cohom
