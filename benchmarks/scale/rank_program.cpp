#include "scale/rank_program.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace cohom::bench {
namespace {

Nanoseconds merge_time(const Schedule& schedule, const Step& step, std::uint32_t unit,
                       PayloadSizes& sizes, const CodecTimes& times) {
  const Slot& result = schedule.slots[step.result];
  const auto elements = static_cast<double>(sizes.elements(result.chunks, unit));
  const auto bytes = static_cast<double>(sizes.bytes(result, unit));
  std::size_t wide = 0;
  Nanoseconds time = 0;
  for (const std::uint32_t source : schedule.sources_of(step))
    if (schedule.slots[source].form == Form::narrow)
      time += times.add_narrow * elements;
    else if (wide++ > 0)
      time += times.add_wide * bytes;
  return time;
}

Nanoseconds time_of(const Schedule& schedule, const Step& step, std::uint32_t unit,
                    PayloadSizes& sizes, const CodecTimes& times) {
  const auto elements = static_cast<double>(sizes.elements(schedule.chunks_of(step), unit));
  switch (step.kind) {
    case StepKind::encode: return times.encode * elements;
    case StepKind::decode: return times.decode * elements;
    case StepKind::merge: return merge_time(schedule, step, unit, sizes, times);
    default: return 0;
  }
}

}  // namespace

RankProgram::RankProgram(const Schedule& schedule, PayloadSizes& sizes, const CodecTimes& times) {
  for (const Step& step : schedule.steps) add_tasks(schedule, step, sizes, times);
  link(schedule, sizes);
  const auto key = [this](std::uint32_t number) {
    return std::tuple(steps_[number].peer, steps_[number].sequence_id);
  };
  std::ranges::sort(receives_, {}, key);
}

void RankProgram::add_tasks(const Schedule& schedule, const Step& step, PayloadSizes& sizes,
                            const CodecTimes& times) {
  const auto number = static_cast<std::uint32_t>(steps_.size());
  const Slot& slot = schedule.slots[schedule.slot_of(step)];
  const std::uint32_t units = sizes.units(slot.chunks);
  units_ = std::max(units_, units);
  steps_.push_back({.kind = step.kind,
                    .peer = step.peer,
                    .sequence_id = step.sequence_id,
                    .first_task = tasks(),
                    .units = units});
  if (step.kind == StepKind::offload)
    throw std::invalid_argument("schedules of aggregators are not simulated");
  if (step.kind == StepKind::receive) receives_.push_back(number);
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    tasks_.push_back({number, unit});
    waits_.push_back(step.kind == StepKind::receive ? 1 : 0);
    const bool travels = step.kind == StepKind::send || step.kind == StepKind::receive;
    bytes_.push_back(travels ? sizes.bytes(slot, unit) : 0);
    times_.push_back(static_cast<float>(time_of(schedule, step, unit, sizes, times)));
  }
}

/// A unit waits for the unit of that number of each source that has one.
void RankProgram::link(const Schedule& schedule, PayloadSizes& sizes) {
  std::vector<std::uint32_t> writer(schedule.slots.size());
  std::vector<std::vector<std::uint32_t>> readers(steps_.size());
  for (std::uint32_t number = 0; number < steps_.size(); ++number) {
    const Step& step = schedule.steps[number];
    if (step.result != Step::no_slot) writer[step.result] = number;
    for (const std::uint32_t source : schedule.sources_of(step)) {
      readers[writer[source]].push_back(number);
      const std::uint32_t both =
          std::min(steps_[number].units, sizes.units(schedule.slots[source].chunks));
      for (std::uint32_t unit = 0; unit < both; ++unit) ++waits_[steps_[number].first_task + unit];
    }
  }
  for (std::uint32_t number = 0; number < steps_.size(); ++number) {
    steps_[number].first_reader = static_cast<std::uint32_t>(readers_.size());
    steps_[number].readers = static_cast<std::uint32_t>(readers[number].size());
    readers_.insert(readers_.end(), readers[number].begin(), readers[number].end());
  }
}

std::optional<std::uint32_t> RankProgram::receive_of(int peer, std::uint64_t label) const {
  const auto sequence_id = static_cast<std::uint32_t>(label >> 32);
  const auto unit = static_cast<std::uint32_t>(label);
  const auto found = std::ranges::lower_bound(
      receives_, std::tuple(peer, sequence_id), {}, [this](std::uint32_t number) {
        return std::tuple(steps_[number].peer, steps_[number].sequence_id);
      });
  if (found == receives_.end()) return std::nullopt;
  const StepOfRank& step = steps_[*found];
  if (step.peer != peer || step.sequence_id != sequence_id || unit >= step.units)
    return std::nullopt;
  return step.first_task + unit;
}

}  // namespace cohom::bench
