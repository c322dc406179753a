#include "executor/data_flow.hpp"

#include <algorithm>

namespace cohom {
namespace {

bool is_local(StepKind kind) { return kind == StepKind::merge || kind == StepKind::join; }

}  // namespace

DataFlow::DataFlow(const RoundLayout& layout) : layout_(layout), missing_(layout.tasks()) {
  ready_.reserve(layout.tasks());
  encoded_.reserve(layout.tasks());
  for (TaskQueue* queue : {&demanded_, &merges_, &woken_}) queue->reserve(layout.tasks());
}

void DataFlow::begin() {
  pending_ = layout_.tasks();
  ready_.assign(layout_.tasks(), false);
  encoded_.assign(layout_.tasks(), false);
  send_encodes_next_ = merge_encodes_next_ = 0;
  for (TaskQueue* queue : {&demanded_, &merges_, &woken_}) queue->clear();
  for (std::uint32_t s = 0; s < schedule().steps.size(); ++s) {
    const Step& step = schedule().steps[s];
    for (std::uint32_t unit = 0; unit < layout_.units_of(step).size(); ++unit)
      missing_[layout_.task_index({s, unit})] = sources_with_unit(step, unit);
  }
}

/// Slots of several chunks can have more units than those of some of them.
std::uint16_t DataFlow::sources_with_unit(const Step& step, std::uint32_t unit) const {
  const auto sources = schedule().sources_of(step);
  return static_cast<std::uint16_t>(std::ranges::count_if(
      sources, [&](std::uint32_t slot) { return unit < layout_.units_of(slot).size(); }));
}

bool DataFlow::has_unit(std::uint32_t step, std::uint32_t unit) const {
  return unit < layout_.units_of(schedule().steps[step]).size();
}

void DataFlow::slot_written(std::uint32_t slot, std::uint32_t unit) {
  for (const std::uint32_t reader : layout_.links().consumers(slot)) {
    const Task task{reader, unit};
    if (!has_unit(reader, unit)) continue;  // it reads other chunks of the slot
    if (--missing_[layout_.task_index(task)] != 0) continue;
    ready_[layout_.task_index(task)] = true;
    (is_local(schedule().steps[reader].kind) ? merges_ : woken_).push(task);
  }
}

void DataFlow::demand_encodes(std::uint32_t slot, std::uint32_t unit) {
  for (const std::uint32_t reader : layout_.links().consumers(slot)) {
    for (const std::uint32_t source : schedule().sources_of(schedule().steps[reader])) {
      const Task task{layout_.links().producer(source), unit};
      if (layout_.is_contribution(source) && has_unit(task.step, unit) && !encoded(task))
        demanded_.push(task);
    }
  }
}

const Task* DataFlow::next_demanded() {
  while (!demanded_.empty() && encoded(demanded_.front())) demanded_.pop();
  return demanded_.empty() ? nullptr : &demanded_.front();
}

const Task* DataFlow::next_of(const std::vector<Task>& tasks, std::size_t& next) const {
  while (next < tasks.size() && encoded(tasks[next])) ++next;
  return next < tasks.size() ? &tasks[next] : nullptr;
}

}  // namespace cohom
