#include "executor/messenger.hpp"

#include "base/phase_timer.hpp"

#include <algorithm>

namespace cohom {

namespace {

constexpr std::uint32_t no_sequence = 0xffffffffu;

bool has_messages(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::receive || kind == StepKind::offload;
}

}  // namespace

Messenger::Messenger(const Setup& setup, const RoundLayout& layout,
                     const PayloadLocations& locations, DataFlow& flow, OffloadReplay& replay)
    : setup_(setup),
      layout_(layout),
      locations_(locations),
      flow_(flow),
      replay_(replay),
      sequence_of_step_(layout.schedule().steps.size(), no_sequence),
      messages_left_(layout.tasks()),
      received_bytes_(layout.tasks()) {
  const auto& steps = schedule().steps;
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    if (!has_messages(steps[s].kind)) continue;
    sequence_of_step_[s] = static_cast<std::uint32_t>(sequences_.size());
    sequences_.push_back({s});
  }
}

void Messenger::begin(Channel& channel, Profile* profile, bool hold_sends) {
  channel_ = &channel;
  profile_ = profile;
  hold_sends_ = hold_sends;
  released_ = false;
  pending_sends_ = 0;
  for (MessageSequence& sequence : sequences_) sequence.next = sequence.in_flight = 0;
  std::ranges::fill(messages_left_, 1u);  // what is not posted is not done
}

void Messenger::release() {
  released_ = true;
  for (MessageSequence& sequence : sequences_) post(sequence);
}

void Messenger::release_sends() {
  hold_sends_ = false;
  for (MessageSequence& sequence : sequences_) post(sequence);
}

std::size_t Messenger::messages(std::size_t words) const {
  // From the capacity, which both ends know, so that a payload may be shorter without a word about
  // it.
  const std::size_t bytes = words * 8;
  return std::max<std::size_t>(1, (bytes + setup_.message_bytes - 1) / setup_.message_bytes);
}

std::uint64_t Messenger::cookie(const Task& task) const {
  return payload_cookie(setup_.round, task.step, task.unit);
}

std::uint32_t Messenger::tag(const Step& step) const {
  return payload_tag(setup_.round, step.sequence_id);
}

std::size_t Messenger::window_of(StepKind kind) const {
  switch (kind) {
    case StepKind::receive: return setup_.tuning.max_units_receiving;
    case StepKind::offload: return setup_.tuning.max_units_offloaded;
    default: return setup_.tuning.max_units_sending;
  }
}

/// Whatever may be posted of a sequence.
void Messenger::post(MessageSequence& sequence) {
  if (!released_) return;
  const Step& step = schedule().steps[sequence.step];
  const std::size_t units = layout_.units_of(step).size();
  const bool receives = step.kind == StepKind::receive;
  const std::size_t window = window_of(step.kind);
  const bool held = hold_sends_ && step.kind == StepKind::send;
  const std::size_t may_leave = held ? std::max<std::size_t>(1, units / 2) : units;
  while (sequence.next < may_leave && sequence.in_flight < window) {
    const Task task{sequence.step, static_cast<std::uint32_t>(sequence.next)};
    if (!receives && !flow_.ready(task)) return;
    ++sequence.next;
    ++sequence.in_flight;
    received_bytes_[layout_.task_index(task)] = 0;
    end_phase(profile_, Phase::other);
    if (step.kind == StepKind::send) {
      post_send(task);
    } else if (receives) {
      post_receive(task);
    } else {
      messages_left_[layout_.task_index(task)] = 1;
      replay_.start(task, cookie(task));
    }
    end_phase(profile_, Phase::wire);
  }
}

void Messenger::post_send(const Task& task) {
  const Step& step = step_of(task);
  const std::uint32_t source = schedule().sources_of(step)[0];
  const auto data = std::as_bytes(locations_.words(source, task.unit));
  const std::size_t count = messages(layout_.capacity(source, task.unit));
  messages_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(count);
  ++pending_sends_;
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t begin = std::min(m * setup_.message_bytes, data.size());
    const std::size_t size = std::min(setup_.message_bytes, data.size() - begin);
    channel_->send(data.subspan(begin, size), step.peer, tag(step), cookie(task));
  }
}

void Messenger::post_receive(const Task& task) {
  const Step& step = step_of(task);
  const std::size_t capacity = layout_.capacity(step.result, task.unit);
  const std::size_t count = messages(capacity);
  messages_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(count);
  const std::size_t bytes = capacity * 8;
  std::byte* const buffer = locations_.address(step.result, task.unit);
  if (count == 1 && may_be_lent(step, task.unit))
    return channel_->receive_or_lend({buffer, bytes}, step.peer, tag(step), cookie(task));
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t begin = m * setup_.message_bytes;
    const std::size_t size = std::min(setup_.message_bytes, bytes - begin);
    channel_->receive({buffer + begin, size}, step.peer, tag(step), cookie(task));
  }
}

/// What one step alone reads here, which then gives it back, and what is not to lie in the user's
/// output anyway.
bool Messenger::may_be_lent(const Step& step, std::uint32_t unit) const {
  if (!setup_.may_borrow || locations_.in_output(step.result, unit)) return false;
  const auto& readers = layout_.links().consumers(step.result);
  if (readers.size() != 1) return false;
  const StepKind kind = schedule().steps[readers[0]].kind;
  return kind == StepKind::merge || kind == StepKind::decode;
}

std::optional<Messenger::Arrival> Messenger::complete(const Completion& completion) {
  const Task task = task_of(completion.cookie);
  const std::size_t index = layout_.task_index(task);
  received_bytes_[index] += static_cast<std::uint32_t>(completion.bytes);
  if (--messages_left_[index] != 0) return std::nullopt;
  flow_.done();
  --sequences_[sequence_of_step_[task.step]].in_flight;
  if (step_of(task).kind != StepKind::send)
    return Arrival{task, received_bytes_[index], completion.lent};
  --pending_sends_;
  return std::nullopt;
}

void Messenger::repeat_reductions(Reduction& reduction) {
  replay_.repeat_by(reduction);
  for (MessageSequence& sequence : sequences_) {
    if (schedule().steps[sequence.step].kind != StepKind::offload) continue;
    replay_.reopen(sequence.step, sequence.next);
    sequence.next = sequence.in_flight = 0;
    post(sequence);
  }
}

}  // namespace cohom
