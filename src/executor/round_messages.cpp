// RoundRun: what it gives to the channel and the aggregator.

#include "executor/round_run.hpp"

#include "base/tags.hpp"

#include <algorithm>

namespace cohom {

std::size_t RoundRun::messages(std::size_t words) const {
  // From the capacity, which both ends know, so that a payload may be shorter without a word about it.
  const std::size_t bytes = words * 8;
  return std::max<std::size_t>(1, (bytes + setup_.message_bytes - 1) / setup_.message_bytes);
}

std::uint64_t RoundRun::cookie(const Task& task) const {
  return payload_cookie(setup_.round, task.step, task.unit);
}

std::size_t RoundRun::window_of(StepKind kind) const {
  switch (kind) {
    case StepKind::receive: return setup_.tuning.receive_window;
    case StepKind::offload: return setup_.tuning.offload_window;
    default: return setup_.tuning.send_window;
  }
}

void RoundRun::pump(Stream& stream) {
  if (!open_) return;
  const Step& step = schedule().steps[stream.step];
  const std::size_t units = layout_.units_of(step).size();
  const bool receives = step.kind == StepKind::receive;
  const std::size_t window = window_of(step.kind);
  const bool held = call_.hold_sends && step.kind == StepKind::send;
  const std::size_t may_leave = held ? std::max<std::size_t>(1, units / 2) : units;
  while (stream.next < may_leave && stream.in_flight < window) {
    const Task task{stream.step, static_cast<std::uint32_t>(stream.next)};
    if (!receives && !ready_[layout_.task_index(task)]) return;
    ++stream.next;
    ++stream.in_flight;
    received_bytes_[layout_.task_index(task)] = 0;
    lap(call_.profile, Phase::other);
    if (step.kind == StepKind::send)
      post_send(task);
    else if (receives)
      post_receive(task);
    else
      post_offload(task);
    lap(call_.profile, Phase::wire);
  }
}

void RoundRun::post_send(const Task& task) {
  const Step& step = step_of(task);
  const std::uint32_t source = schedule().sources_of(step)[0];
  const auto data = std::as_bytes(words(source, task.unit));
  const std::size_t count = messages(layout_.capacity(source, task.unit));
  messages_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(count);
  ++open_sends_;
  const std::uint32_t tag = payload_tag(setup_.round, step.stream);
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t begin = std::min(m * setup_.message_bytes, data.size());
    const std::size_t size = std::min(setup_.message_bytes, data.size() - begin);
    call_.channel->send(data.subspan(begin, size), step.peer, tag, cookie(task));
  }
}

void RoundRun::post_receive(const Task& task) {
  const Step& step = step_of(task);
  const std::size_t capacity = layout_.capacity(step.result, task.unit);
  const std::size_t count = messages(capacity);
  messages_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(count);
  const std::size_t bytes = capacity * 8;
  const std::uint32_t tag = payload_tag(setup_.round, step.stream);
  std::byte* const buffer = address(step.result, task.unit);
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t begin = m * setup_.message_bytes;
    const std::size_t size = std::min(setup_.message_bytes, bytes - begin);
    call_.channel->receive({buffer + begin, size}, step.peer, tag, cookie(task));
  }
}

void RoundRun::post_offload(const Task& task) {
  const Step& step = step_of(task);
  const std::size_t index = layout_.task_index(task);
  ConstWords mine = words(schedule().sources_of(step)[0], task.unit);
  if (!repeating_) words_handed_over_ += mine.size();
  const bool narrow = call_.widening && !repeating_;
  if (call_.widening && repeating_) mine = widen_own(task, mine);
  Words sum;
  if (!summed_[index])
    sum = {reinterpret_cast<std::uint64_t*>(address(step.result, task.unit)),
           narrow ? layout_.unit(step.result, task.unit).capacity[std::size_t(Form::wide)]
                  : mine.size()};
  messages_left_[index] = 1;
  if (narrow)
    reduction_->start_narrow(mine, sum, setup_.info.merge, *call_.widening, cookie(task));
  else
    reduction_->start(mine, sum, setup_.info.merge, cookie(task));
}

/// Ranks add wide contributions; one takes the place of what the aggregator would have widened.
ConstWords RoundRun::widen_own(const Task& task, ConstWords narrow) {
  const std::uint32_t slot = schedule().sources_of(step_of(task))[0];
  const std::size_t words =
      setup_.codec->widen(setup_.round, piece_of(slot, task.unit), *call_.agreed, {&narrow, 1},
                          {packed_sum_.data(), packed_sum_.size()});
  auto* const place = reinterpret_cast<std::uint64_t*>(address(slot, task.unit));
  setup_.memory->copy(place, packed_sum_.data(), words * 8);
  return {place, words};
}

void RoundRun::take_sum(const Task& task) {
  const std::size_t index = layout_.task_index(task);
  if (summed_[index]) return;  // others lacked it
  summed_[index] = true;
  --sums_left_;
  const std::uint32_t slot = step_of(task).result;
  slot_ready(slot, task.unit, finish_sum(slot, task.unit, received_bytes_[index] / 8));
}

void RoundRun::repeat_reductions(Reduction& reduction) {
  reduction_ = &reduction;
  repeating_ = true;
  for (Stream& stream : streams_) {
    if (schedule().steps[stream.step].kind != StepKind::offload) continue;
    const std::uint32_t first = static_cast<std::uint32_t>(layout_.task_index({stream.step, 0}));
    for (std::size_t unit = 0; unit < stream.next; ++unit)
      if (summed_[first + unit]) ++pending_;
    stream.next = stream.in_flight = 0;
    pump(stream);
  }
}

}  // namespace cohom
