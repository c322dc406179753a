#include "executor/offload_replay.hpp"

namespace cohom {

OffloadReplay::OffloadReplay(Round& round, Memory& memory, const RoundLayout& layout,
                             const PayloadLocations& locations, DataFlow& flow)
    : round_(round), memory_(memory), layout_(layout), locations_(locations), flow_(flow) {
  summed_.reserve(layout.tasks());
  if (layout.links().offloads() && round.traits().narrow() && round.promotion())
    promoted_ = {memory, longest()};
}

std::size_t OffloadReplay::reductions() const {
  std::size_t count = 0;
  for (const Step& step : layout_.schedule().steps)
    if (step.kind == StepKind::offload) count += layout_.units_of(step).size();
  return count;
}

void OffloadReplay::begin(const std::optional<Promotion>& promotion) {
  promotion_ = promotion;
  summed_.assign(layout_.tasks(), false);
  sums_left_ = reductions();
  words_handed_over_ = 0;
  repeating_ = false;
}

void OffloadReplay::start(const Task& task, std::uint64_t cookie) {
  const Step& step = step_of(task);
  ConstPayload mine = locations_.words(layout_.schedule().sources_of(step)[0], task.unit);
  if (!repeating_) words_handed_over_ += mine.size();
  const bool narrow = promotion_ && !repeating_;
  if (promotion_ && repeating_) mine = promote_own(task, mine);
  Payload sum;
  if (!summed_[layout_.task_index(task)]) {
    sum = locations_.space(step.result, task.unit, Form::wide);
    if (!narrow) sum = {sum.data(), mine.size()};
  }
  if (narrow)
    reduction_->start_narrow(mine, sum, round_.traits().merge, *promotion_, cookie);
  else
    reduction_->start(mine, sum, round_.traits().merge, cookie);
}

/// Ranks add wide contributions; one takes the place of what the aggregator would have promoted.
ConstPayload OffloadReplay::promote_own(const Task& task, ConstPayload narrow) {
  const std::uint32_t slot = layout_.schedule().sources_of(step_of(task))[0];
  const std::size_t words = round_.promote(locations_.piece_of(slot, task.unit), {&narrow, 1},
                                           static_cast<std::size_t>(layout_.schedule().ranks),
                                           {promoted_.data(), promoted_.size()});
  auto* const place = reinterpret_cast<std::uint64_t*>(locations_.address(slot, task.unit));
  memory_.copy(place, promoted_.data(), words * 8);
  return {place, words};
}

bool OffloadReplay::take_sum(const Task& task) {
  const std::size_t index = layout_.task_index(task);
  if (summed_[index]) return false;
  summed_[index] = true;
  --sums_left_;
  return true;
}

void OffloadReplay::repeat_by(Reduction& reduction) {
  reduction_ = &reduction;
  repeating_ = true;
}

void OffloadReplay::reopen(std::uint32_t step, std::size_t units) {
  const std::size_t first = layout_.task_index({step, 0});
  for (std::size_t unit = 0; unit < units; ++unit)
    if (summed_[first + unit]) flow_.reopen();
}

}  // namespace cohom
