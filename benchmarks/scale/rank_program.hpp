#pragma once
// RankProgram: a schedule of one rank with its sizes, as a graph of tasks for the simulation.

#include "scale/codec_times.hpp"
#include "scale/payload_sizes.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohom::bench {

/// A task is a step on one message unit.
class RankProgram {
 public:
  struct Task {
    std::uint32_t step = 0;
    std::uint32_t unit = 0;
  };

  RankProgram() = default;
  RankProgram(const Schedule& schedule, PayloadSizes& sizes, const CodecTimes& times);

  /// Dense numbers, 0 ... tasks() - 1.
  [[nodiscard]] std::uint32_t tasks() const { return static_cast<std::uint32_t>(waits_.size()); }
  [[nodiscard]] std::uint32_t units() const { return units_; }
  [[nodiscard]] const Task& task(std::uint32_t number) const { return tasks_[number]; }
  [[nodiscard]] StepKind kind(std::uint32_t task) const { return steps_[tasks_[task].step].kind; }
  [[nodiscard]] int peer(std::uint32_t task) const { return steps_[tasks_[task].step].peer; }
  /// What tells a message from others between the same two ranks.
  [[nodiscard]] std::uint64_t label(std::uint32_t task) const {
    return label(steps_[tasks_[task].step].sequence_id, tasks_[task].unit);
  }
  /// Of a send or receive.
  [[nodiscard]] std::uint64_t bytes(std::uint32_t task) const { return bytes_[task]; }
  [[nodiscard]] Nanoseconds time(std::uint32_t task) const { return times_[task]; }
  /// For how many tasks (or a message, of a receive) it waits.
  [[nodiscard]] std::uint32_t waits(std::uint32_t task) const { return waits_[task]; }

  /// The receive of a message.
  [[nodiscard]] std::optional<std::uint32_t> receive_of(int peer, std::uint64_t label) const;
  /// Calls visit(task) for those that wait for this one.
  template <class Visit>
  void for_each_follower(std::uint32_t task, Visit visit) const {
    const StepOfRank& step = steps_[tasks_[task].step];
    for (const std::uint32_t follower : readers(step))
      if (tasks_[task].unit < steps_[follower].units)
        visit(steps_[follower].first_task + tasks_[task].unit);
  }

 private:
  struct StepOfRank {
    StepKind kind = StepKind::encode;
    int peer = -1;
    std::uint32_t sequence_id = 0;
    std::uint32_t first_task = 0, units = 0;
    std::uint32_t first_reader = 0, readers = 0;  ///< in readers_
  };

  static std::uint64_t label(std::uint32_t sequence_id, std::uint32_t unit) {
    return std::uint64_t{sequence_id} << 32 | unit;
  }
  void add_tasks(const Schedule& schedule, const Step& step, PayloadSizes& sizes,
                 const CodecTimes& times);
  void link(const Schedule& schedule, PayloadSizes& sizes);
  [[nodiscard]] std::span<const std::uint32_t> readers(const StepOfRank& step) const {
    return std::span(readers_).subspan(step.first_reader, step.readers);
  }

  std::uint32_t units_ = 0;  ///< of the step that has most
  std::vector<StepOfRank> steps_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> waits_;     ///< by task
  std::vector<std::uint64_t> bytes_;     ///< by task
  std::vector<float> times_;             ///< by task
  std::vector<std::uint32_t> readers_;   ///< steps
  std::vector<std::uint32_t> receives_;  ///< steps, by peer and sequence
};

}  // namespace cohom::bench
