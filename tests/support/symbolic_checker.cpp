#include "support/symbolic_checker.hpp"

#include "support/symbolic_run.hpp"

#include <map>
#include <tuple>

namespace cohom::testing {
namespace {

using Problems = std::vector<std::string>;

std::string at(std::size_t rank, std::size_t step) {
  return "rank " + std::to_string(rank) + ": step " + std::to_string(step);
}

class MessageMatcher {
 public:
  explicit MessageMatcher(std::span<const Schedule> schedules) : schedules_(schedules) {}

  Arrivals match(Problems& problems) {
    for_each_step(StepKind::receive, [&](std::size_t rank, std::size_t index, const Step& step) {
      open_[{static_cast<std::size_t>(step.peer), rank, step.sequence_id}] = index;
    });
    Arrivals arrivals;
    for_each_step(StepKind::send, [&](std::size_t rank, std::size_t index, const Step& step) {
      const auto receiver = static_cast<std::size_t>(step.peer);
      const auto receive = open_.find({rank, receiver, step.sequence_id});
      if (receive == open_.end())
        return problems.push_back(at(rank, index) + " sends what nobody receives");
      const Arrival arrival{.rank = receiver, .step = receive->second};
      open_.erase(receive);
      if (!agree(schedules_[rank], step, arrival))
        problems.push_back(at(rank, index) + " sends another slot than its receiver expects");
      arrivals[{rank, index}] = arrival;
    });
    for (const auto& [message, step] : open_)
      problems.push_back(at(std::get<1>(message), step) + " receives what nobody sends");
    return arrivals;
  }

 private:
  template <class Function>
  void for_each_step(StepKind kind, Function function) {
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank)
      for (std::size_t i = 0; i < schedules_[rank].steps.size(); ++i)
        if (schedules_[rank].steps[i].kind == kind) function(rank, i, schedules_[rank].steps[i]);
  }

  bool agree(const Schedule& sender, const Step& send, const Arrival& arrival) const {
    const Schedule& receiver = schedules_[arrival.rank];
    const Slot& sent = sender.slots[sender.sources_of(send).front()];
    const Slot& expected = receiver.slots[receiver.steps[arrival.step].result];
    return std::tie(sent.chunks, sent.form, sent.contributions, sent.room) ==
           std::tie(expected.chunks, expected.form, expected.contributions, expected.room);
  }

  std::span<const Schedule> schedules_;
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::size_t> open_;
};

Problems check_each(std::span<const Schedule> schedules, const Wanted& wanted) {
  Problems problems;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    const Schedule& schedule = schedules[rank];
    if (static_cast<std::size_t>(schedule.rank) != rank ||
        static_cast<std::size_t>(schedule.ranks) != schedules.size() ||
        schedule.chunks != schedules[0].chunks)
      problems.push_back("rank " + std::to_string(rank) + " has a schedule for something else");
    const auto found = check_rules(schedule, wanted);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace

std::vector<std::string> check_schedules(std::span<const Schedule> schedules, std::uint32_t units,
                                         const Wanted& wanted) {
  // Each check relies on what the one before has found in order.
  Problems problems = check_each(schedules, wanted);
  if (!problems.empty()) return problems;
  const Arrivals arrivals = MessageMatcher(schedules).match(problems);
  if (!problems.empty()) return problems;
  problems = run_symbolically(schedules, arrivals, units, Order::when_ready);
  if (!problems.empty()) return problems;
  return run_symbolically(schedules, arrivals, units, Order::one_by_one);
}

}  // namespace cohom::testing
