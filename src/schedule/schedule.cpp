#include "schedule/schedule.hpp"

#include <cassert>
#include <utility>

namespace cohom {
namespace {

constexpr std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::encode: return "encode";
    case StepKind::receive: return "receive";
    case StepKind::merge: return "merge";
    case StepKind::join: return "join";
    case StepKind::send: return "send";
    case StepKind::offload: return "offload";
    case StepKind::decode: return "decode";
  }
  return "?";
}

std::string describe(const ChunkRange& chunks) {
  return chunks.count == 1
             ? "chunk " + std::to_string(chunks.first)
             : "chunks " + std::to_string(chunks.first) + " to " + std::to_string(chunks.end() - 1);
}

std::string describe_result(const Schedule& schedule, const Step& step) {
  const Slot& slot = schedule.slots[step.result];
  return "slot " + std::to_string(step.result) + " (" + describe(slot.chunks) +
         (slot.form == Form::narrow ? ", narrow" : ", wide") + ", " +
         std::to_string(slot.contributions) + " of " + std::to_string(schedule.ranks) +
         ", buffer " + std::to_string(slot.buffer) + ")";
}

std::string describe_sources(const Schedule& schedule, const Step& step) {
  std::string text;
  for (const auto source : schedule.sources_of(step))
    text += (text.empty() ? "slot " : " + ") + std::to_string(source);
  return text;
}

std::string describe(const Schedule& schedule, const Step& step) {
  const bool receives = step.kind == StepKind::receive;
  std::string text(name_of(step.kind));
  text.resize(8, ' ');
  if (step.result != Step::no_slot) text += describe_result(schedule, step);
  if (step.result != Step::no_slot && step.source_count > 0) text += " := ";
  text += describe_sources(schedule, step);
  if (receives || step.kind == StepKind::send)
    text += (receives ? " from rank " : " to rank ") + std::to_string(step.peer) + " sequence " +
            std::to_string(step.sequence_id);
  return text;
}

}  // namespace

std::string to_string(const Schedule& schedule) {
  std::string text = "rank " + std::to_string(schedule.rank) + " of " +
                     std::to_string(schedule.ranks) + ": " + std::to_string(schedule.chunks) +
                     " chunks, " + std::to_string(schedule.buffers) + " buffers\n";
  for (std::size_t i = 0; i < schedule.steps.size(); ++i)
    text += std::to_string(i) + ": " + describe(schedule, schedule.steps[i]) + "\n";
  return text;
}

ScheduleBuilder::ScheduleBuilder(int rank, int ranks, std::uint32_t chunks, bool grows)
    : grows_(grows) {
  assert(ranks > 0 && rank >= 0 && rank < ranks && chunks > 0);
  schedule_.rank = rank;
  schedule_.ranks = ranks;
  schedule_.chunks = chunks;
}

std::uint32_t ScheduleBuilder::encode(ChunkRange chunks, Form form) {
  const auto result =
      add_slot({.chunks = chunks, .buffer = schedule_.buffers++, .form = form, .contributions = 1});
  add_step({.kind = StepKind::encode, .result = result}, {});
  return result;
}

std::uint32_t ScheduleBuilder::receive(ChunkRange chunks, Form form, std::uint32_t contributions,
                                       int peer, std::uint32_t sequence_id) {
  const auto result = add_slot({.chunks = chunks,
                                .buffer = schedule_.buffers++,
                                .form = form,
                                .contributions = contributions});
  add_step({.kind = StepKind::receive, .result = result, .peer = peer, .sequence_id = sequence_id},
           {});
  return result;
}

std::uint32_t ScheduleBuilder::merge(std::span<const std::uint32_t> sources,
                                     std::uint32_t in_place) {
  assert(!sources.empty());
  return add_merge(
      sources, schedule_.slots[sources.front()].chunks,
      in_place == Step::no_slot ? schedule_.buffers++ : schedule_.slots[in_place].buffer);
}

std::uint32_t ScheduleBuilder::merge_part(std::span<const std::uint32_t> sources,
                                          ChunkRange chunks) {
  return add_merge(sources, chunks, schedule_.buffers++);
}

std::uint32_t ScheduleBuilder::add_merge(std::span<const std::uint32_t> sources, ChunkRange chunks,
                                         std::uint32_t buffer) {
  Slot sum{.chunks = chunks, .buffer = buffer, .form = Form::wide};
  for (const auto source : sources) sum.contributions += schedule_.slots[source].contributions;
  const auto result = add_slot(sum);
  add_step({.kind = StepKind::merge, .result = result}, sources);
  return result;
}

std::uint32_t ScheduleBuilder::join(std::span<const std::uint32_t> sources) {
  assert(!sources.empty());
  Slot all = schedule_.slots[sources.front()];
  all.chunks.count = schedule_.slots[sources.back()].chunks.end() - all.chunks.first;
  all.buffer = schedule_.buffers++;
  const auto result = add_slot(all);
  add_step({.kind = StepKind::join, .result = result}, sources);
  return result;
}

std::uint32_t ScheduleBuilder::offload(std::uint32_t source, std::uint32_t contributions,
                                       bool in_place) {
  Slot sum = schedule_.slots[source];
  if (!in_place) sum.buffer = schedule_.buffers++;
  sum.contributions = contributions;
  const auto result = add_slot(sum);
  add_step({.kind = StepKind::offload, .result = result}, {&source, 1});
  return result;
}

void ScheduleBuilder::send(std::uint32_t source, int peer, std::uint32_t sequence_id) {
  add_step({.kind = StepKind::send, .peer = peer, .sequence_id = sequence_id}, {&source, 1});
}

void ScheduleBuilder::decode(std::uint32_t source) {
  add_step({.kind = StepKind::decode}, {&source, 1});
}

Schedule ScheduleBuilder::build() && { return std::move(schedule_); }

std::uint32_t ScheduleBuilder::add_slot(Slot slot) {
  assert(slot.chunks.count > 0 && slot.chunks.end() <= schedule_.chunks);
  slot.room = grows_ ? slot.contributions : static_cast<std::uint32_t>(schedule_.ranks);
  schedule_.slots.push_back(slot);
  return static_cast<std::uint32_t>(schedule_.slots.size() - 1);
}

void ScheduleBuilder::add_step(Step step, std::span<const std::uint32_t> sources) {
  step.first_source = static_cast<std::uint32_t>(schedule_.sources.size());
  step.source_count = static_cast<std::uint32_t>(sources.size());
  schedule_.sources.insert(schedule_.sources.end(), sources.begin(), sources.end());
  schedule_.steps.push_back(step);
}

}  // namespace cohom
