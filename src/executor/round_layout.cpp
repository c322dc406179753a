#include "executor/round_layout.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

RoundLayout::RoundLayout(const Round& round, Schedule schedule, const Chunking& chunking,
                         ElementType type)
    : schedule_(std::move(schedule)),
      units_(round, schedule_.ranks, schedule_.chunks, chunking, type),
      links_(schedule_) {
  lay_out_buffers();
  number_tasks();
  order_encodes();
}

void RoundLayout::lay_out_buffers() {
  buffer_base_.assign(schedule_.buffers, 0);
  std::vector<bool> placed(schedule_.buffers, false);
  for (const Slot& slot : schedule_.slots) {
    if (placed[slot.buffer]) continue;
    placed[slot.buffer] = true;
    buffer_base_[slot.buffer] = workspace_words_;
    if (units_.of_chunk(slot.chunk).empty()) continue;
    const MessageUnit& last = units_.of_chunk(slot.chunk).back();
    workspace_words_ += last.offset[std::size_t(slot.form)] + words_to_next_unit(last, slot.form);
  }
}

void RoundLayout::number_tasks() {
  for (const Step& step : schedule_.steps) {
    step_base_.push_back(tasks_);
    tasks_ += units_of(step).size();
  }
  for (const Slot& slot : schedule_.slots) {
    slot_base_.push_back(slot_units_);
    slot_units_ += units_.of_chunk(slot.chunk).size();
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

std::size_t RoundLayout::workspace_offset(std::uint32_t slot, std::uint32_t unit) const {
  const Slot& s = schedule_.slots[slot];
  return buffer_base_[s.buffer] + units_.of_chunk(s.chunk)[unit].offset[std::size_t(s.form)];
}

}  // namespace cohom
