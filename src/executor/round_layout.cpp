#include "executor/round_layout.hpp"

#include <algorithm>
#include <utility>

namespace cohom {
namespace {

constexpr std::size_t not_placed = ~std::size_t{0};

}  // namespace

RoundLayout::RoundLayout(const Round& round, Schedule schedule, const Chunking& chunking,
                         ElementType type)
    : schedule_(std::move(schedule)), units_(round, schedule_, chunking, type), links_(schedule_) {
  number_tasks();
  lay_out_buffers(round, chunking.pieces());
  order_encodes();
}

void RoundLayout::number_tasks() {
  for (const Step& step : schedule_.steps) {
    step_base_.push_back(tasks_);
    tasks_ += units_of(step).size();
  }
  for (std::uint32_t slot = 0; slot < schedule_.slots.size(); ++slot) {
    slot_base_.push_back(slot_units_);
    slot_units_ += units_of(slot).size();
  }
}

void RoundLayout::lay_out_buffers(const Round& round, std::span<const Piece> pieces) {
  const std::vector<std::uint32_t> joined = joined_into(round);
  std::vector<std::size_t> bases(schedule_.buffers, not_placed);
  offset_.resize(slot_units_);
  for (std::uint32_t slot = 0; slot < schedule_.slots.size(); ++slot)
    if (joined[slot] == Step::no_slot) place_buffer(slot, bases);
  // A join comes after what it joins, and one that is joined itself before the other.
  for (std::size_t slot = schedule_.slots.size(); slot-- > 0;)
    if (joined[slot] != Step::no_slot)
      place_in_join(static_cast<std::uint32_t>(slot), joined[slot], round, pieces);
}

/// By slot: the join in whose buffer it can lie, so that there is nothing to copy, or no_slot. Only
/// sums whose words are as many before they are finished, and whatever their numbers, leave their
/// neighbours alone.
std::vector<std::uint32_t> RoundLayout::joined_into(const Round& round) const {
  std::vector<std::uint32_t> joined(schedule_.slots.size(), Step::no_slot);
  if (round.traits().varies() || round.traits().finishes_sums()) return joined;
  for (const Step& step : schedule_.steps)
    if (step.kind == StepKind::join)
      for (const std::uint32_t source : schedule_.sources_of(step)) joined[source] = step.result;
  return joined;
}

void RoundLayout::place_buffer(std::uint32_t slot, std::vector<std::size_t>& bases) {
  const Slot& s = schedule_.slots[slot];
  const auto form = static_cast<std::size_t>(s.form);
  const auto& units = units_of(slot);
  if (bases[s.buffer] == not_placed) {
    bases[s.buffer] = workspace_words_;
    if (!units.empty())
      workspace_words_ += units.back().offset[form] + words_to_next_unit(units.back(), s.form);
  }
  for (std::uint32_t unit = 0; unit < units.size(); ++unit)
    offset_[slot_index(slot, unit)] = bases[s.buffer] + units[unit].offset[form];
}

void RoundLayout::place_in_join(std::uint32_t slot, std::uint32_t joined, const Round& round,
                                std::span<const Piece> pieces) {
  const auto ranks = static_cast<std::size_t>(schedule_.ranks);
  for (std::uint32_t unit = 0; unit < units_of(slot).size(); ++unit) {
    std::size_t words = workspace_offset(joined, unit);
    const std::size_t first = this->unit(joined, unit).first_piece;
    for (const Piece& before : pieces.subspan(first, this->unit(slot, unit).first_piece - first))
      words += round.capacity(ranks, before.count);
    offset_[slot_index(slot, unit)] = words;
  }
}

void RoundLayout::order_encodes() {
  // Unit by unit over all chunks: the order in which agreement arrives, and in which the first
  // segments of every chunk can travel early.
  for (std::uint32_t s = 0; s < schedule_.steps.size(); ++s) {
    const Step& step = schedule_.steps[s];
    if (step.kind != StepKind::encode) continue;
    const auto& readers = links_.consumers(step.result);
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

}  // namespace cohom
