#include "scale/schedule_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <queue>
#include <stdexcept>
#include <utility>

namespace cohom::bench {
namespace {

/// What a rank can do now. The first in order comes first.
struct Ready {
  enum class Urgency : std::uint8_t { message, agrees, leaves, merges, encodes, decodes };
  Urgency urgency = Urgency::message;
  std::uint64_t order = 0;  ///< as it became ready; of encodings: as the schedule has them
  std::uint32_t part = 0;
  std::uint32_t unit = 0;
  std::uint32_t task = 0;
  // It takes the 0 of a comparison for a null pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const Ready&, const Ready&) = default;
};

Ready::Urgency urgency_of(StepKind kind) {
  switch (kind) {
    case StepKind::receive: return Ready::Urgency::message;
    case StepKind::send: return Ready::Urgency::leaves;
    case StepKind::encode: return Ready::Urgency::encodes;
    case StepKind::decode: return Ready::Urgency::decodes;
    default: return Ready::Urgency::merges;
  }
}

/// Messages that a transfer is made of; the last ones may be empty.
std::uint32_t messages_of(std::uint64_t bytes, const CallPart& part) {
  const double count =
      std::ceil(static_cast<double>(bytes) * part.room / static_cast<double>(part.message_bytes));
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(count));
}

/// A part on one rank.
struct PartRun {
  PartRun(RankProgram of_rank, const CallPart& part)
      : program(std::move(of_rank)), units(program.units()), left(program.tasks()) {
    for (std::uint32_t task = 0; task < program.tasks(); ++task) {
      const bool receives = program.kind(task) == StepKind::receive;
      waits.push_back(receives ? messages_of(program.bytes(task), part) : program.waits(task));
      ++units[program.task(task).unit].left;
    }
  }

  struct Unit {
    std::uint32_t left = 0;  ///< tasks
    bool started = false;
    std::vector<std::uint32_t> early = {};  ///< receives whose messages came before it started
  };
  RankProgram program;
  std::vector<std::uint32_t> waits = {};  ///< by task: other tasks, or messages of a receive
  std::vector<Unit> units;
  std::uint32_t left;  ///< tasks
};

struct RankRun {
  std::vector<PartRun> parts;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  Nanoseconds busy_until = 0;
  bool wakes = false;
  std::uint64_t made_ready = 0, messages = 0;
};

/// Encodings of the payload, most of which are sent, before a rank begins to agree beside them.
constexpr std::uint32_t sends_before_agreement = 6;

class Simulation final : public NetworkUser {
 public:
  Simulation(const NetworkShape& shape, int ranks, const std::vector<CallPart>& parts);
  SimulatedCall run();

  void delivered(Nanoseconds now, NetworkMessage& message) override;
  void sent(Nanoseconds /*now*/, const NetworkMessage& /*message*/) override {}
  void awake(Nanoseconds now, int rank) override;

 private:
  void make_ready(RankRun& rank, std::uint32_t part, std::uint32_t task);
  void start(RankRun& rank, std::uint32_t part, std::uint32_t unit);
  void start_followers(RankRun& rank, int done);
  void start_unit_followers(RankRun& rank, std::uint32_t done, std::uint32_t unit);
  void work(int number, Nanoseconds now);
  Nanoseconds perform(int number, Nanoseconds now, const Ready& ready);
  void take_message(RankRun& rank, const Ready& ready);
  Nanoseconds send(int number, Nanoseconds now, const Ready& ready);
  void finish(RankRun& rank, std::uint32_t part, std::uint32_t task);
  void expect_all_done() const;

  EventNetwork network_;
  const std::vector<CallPart>& parts_;
  std::vector<RankRun> ranks_;
  Nanoseconds end_ = 0;
};

Simulation::Simulation(const NetworkShape& shape, int ranks, const std::vector<CallPart>& parts)
    : network_(shape, ranks), parts_(parts), ranks_(static_cast<std::size_t>(ranks)) {
  for (int number = 0; number < ranks; ++number) {
    RankRun& rank = ranks_[static_cast<std::size_t>(number)];
    for (const CallPart& part : parts) rank.parts.emplace_back(part.program(number), part);
  }
}

SimulatedCall Simulation::run() {
  for (int number = 0; number < static_cast<int>(ranks_.size()); ++number) {
    start_followers(ranks_[static_cast<std::size_t>(number)], CallPart::begin_of_call);
    network_.wake(0, number);
  }
  network_.run(*this);
  expect_all_done();
  SimulatedCall call{.time = end_, .busiest_node_bytes = network_.busiest_node_bytes()};
  for (const RankRun& rank : ranks_) call.messages = std::max(call.messages, rank.messages);
  return call;
}

void Simulation::make_ready(RankRun& rank, std::uint32_t part, std::uint32_t task) {
  const RankProgram& program = rank.parts[part].program;
  Ready ready{.urgency = urgency_of(program.kind(task)),
              .part = part,
              .unit = program.task(task).unit,
              .task = task};
  if (ready.urgency == Ready::Urgency::encodes)
    ready.order = parts_[part].comes_first ? sends_before_agreement : task;
  else
    ready.order = ++rank.made_ready;
  if (parts_[part].comes_first &&
      (ready.urgency == Ready::Urgency::leaves || ready.urgency == Ready::Urgency::merges))
    ready.urgency = Ready::Urgency::agrees;
  rank.ready.push(ready);
}

void Simulation::start(RankRun& rank, std::uint32_t part, std::uint32_t unit) {
  PartRun& run = rank.parts[part];
  if (std::exchange(run.units[unit].started, true)) return;
  for (std::uint32_t task = 0; task < run.program.tasks(); ++task)
    if (run.program.task(task).unit == unit && run.program.waits(task) == 0)
      make_ready(rank, part, task);
  for (const std::uint32_t task : std::exchange(run.units[unit].early, {}))
    finish(rank, part, task);
}

/// Parts without tasks are done as soon as they start.
void Simulation::start_followers(RankRun& rank, int done) {
  for (std::uint32_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].follows != done) continue;
    const std::uint32_t units = rank.parts[part].program.units();
    for (std::uint32_t unit = 0; unit < units; ++unit) start(rank, part, unit);
    if (units == 0) start_followers(rank, static_cast<int>(part));
  }
}

void Simulation::start_unit_followers(RankRun& rank, std::uint32_t done, std::uint32_t unit) {
  for (std::uint32_t part = 0; part < parts_.size(); ++part)
    if (parts_[part].by_unit && parts_[part].follows == static_cast<int>(done) &&
        unit < rank.parts[part].program.units())
      start(rank, part, unit);
}

void Simulation::delivered(Nanoseconds now, NetworkMessage& message) {
  RankRun& rank = ranks_[static_cast<std::size_t>(message.destination)];
  const auto task = rank.parts[message.part].program.receive_of(message.source, message.label);
  if (!task)
    throw std::logic_error(fmt::format("rank {} has no receive for a message of rank {}",
                                       message.destination, message.source));
  make_ready(rank, message.part, *task);
  work(message.destination, now);
}

void Simulation::awake(Nanoseconds now, int rank) {
  ranks_[static_cast<std::size_t>(rank)].wakes = false;
  work(rank, now);
}

/// One task; the next one when that is over, so that what arrives meanwhile can come first.
void Simulation::work(int number, Nanoseconds now) {
  RankRun& rank = ranks_[static_cast<std::size_t>(number)];
  while (!rank.ready.empty() && rank.busy_until <= now) {
    const Ready ready = rank.ready.top();
    rank.ready.pop();
    rank.busy_until = now + perform(number, now, ready);
    end_ = std::max(end_, rank.busy_until);
  }
  if (rank.ready.empty() || rank.wakes) return;
  rank.wakes = true;
  network_.wake(rank.busy_until, number);
}

/// @returns how long it takes
Nanoseconds Simulation::perform(int number, Nanoseconds now, const Ready& ready) {
  RankRun& rank = ranks_[static_cast<std::size_t>(number)];
  const RankProgram& program = rank.parts[ready.part].program;
  switch (program.kind(ready.task)) {
    case StepKind::receive: take_message(rank, ready); return network_.shape().overhead;
    case StepKind::send: return send(number, now, ready);
    default: finish(rank, ready.part, ready.task); return program.time(ready.task);
  }
}

void Simulation::take_message(RankRun& rank, const Ready& ready) {
  PartRun& part = rank.parts[ready.part];
  if (--part.waits[ready.task] != 0) return;
  PartRun::Unit& unit = part.units[ready.unit];
  if (unit.started)
    finish(rank, ready.part, ready.task);
  else
    unit.early.push_back(ready.task);
}

Nanoseconds Simulation::send(int number, Nanoseconds now, const Ready& ready) {
  RankRun& rank = ranks_[static_cast<std::size_t>(number)];
  const RankProgram& program = rank.parts[ready.part].program;
  const std::uint32_t messages = messages_of(program.bytes(ready.task), parts_[ready.part]);
  Nanoseconds time = 0;
  std::size_t left = program.bytes(ready.task);
  for (std::uint32_t message = 0; message < messages; ++message) {
    time += network_.shape().overhead;
    const std::size_t bytes = std::min(left, parts_[ready.part].message_bytes);
    left -= bytes;
    network_.send(now + time, {.source = number,
                               .destination = program.peer(ready.task),
                               .bytes = bytes,
                               .part = ready.part,
                               .label = program.label(ready.task)});
  }
  rank.messages += messages;
  finish(rank, ready.part, ready.task);
  return time;
}

void Simulation::finish(RankRun& rank, std::uint32_t part, std::uint32_t task) {
  PartRun& run = rank.parts[part];
  run.program.for_each_follower(task, [&](std::uint32_t follower) {
    if (--run.waits[follower] == 0) make_ready(rank, part, follower);
  });
  const std::uint32_t unit = run.program.task(task).unit;
  if (--run.units[unit].left == 0) start_unit_followers(rank, part, unit);
  if (--run.left == 0) start_followers(rank, static_cast<int>(part));
}

void Simulation::expect_all_done() const {
  for (std::size_t number = 0; number < ranks_.size(); ++number)
    for (const PartRun& part : ranks_[number].parts)
      if (part.left != 0)
        throw std::logic_error(fmt::format("rank {} waits for messages that nobody sends", number));
}

}  // namespace

SimulatedCall run_schedules(const NetworkShape& shape, int ranks,
                            const std::vector<CallPart>& parts) {
  return Simulation(shape, ranks, parts).run();
}

}  // namespace cohom::bench
