#include "support/symbolic_run.hpp"

#include "support/merge_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cohom::testing {
namespace {

using Tree = MergeTrees::Tree;
/// What a slot's unit holds: one tree a chunk.
using Value = std::vector<Tree>;

class SymbolicRun {
 public:
  SymbolicRun(std::span<const Schedule> schedules, const Arrivals& arrivals, std::uint32_t units,
              Order order)
      : schedules_(schedules),
        arrivals_(arrivals),
        units_(units),
        order_(order),
        trees_(static_cast<int>(schedules.size())) {
    for (const Schedule& schedule : schedules)
      ranks_.push_back({.done = std::vector<std::uint32_t>(schedule.steps.size()),
                        .slots = std::vector<std::vector<Value>>(schedule.slots.size()),
                        .output = std::vector<std::vector<Tree>>(schedule.chunks)});
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) move_cursors(rank);
  }

  std::vector<std::string> run() {
    while (sweep()) {
    }
    check_ended();
    if (problems_.empty()) check_slots();
    if (problems_.empty()) check_output();
    return std::move(problems_);
  }

 private:
  struct RankState {
    std::vector<std::uint32_t> done = {};        // units, by step
    std::vector<std::vector<Value>> slots = {};  // by slot and unit; as long as units are written
    std::vector<std::vector<Tree>> output = {};  // by chunk and unit
    std::size_t compute_cursor = 0;              // first step not ended, receives left out
    std::size_t receive_cursor = 0;              // first receive not ended
  };

  const Step& step(std::size_t rank, std::size_t index) const {
    return schedules_[rank].steps[index];
  }
  bool receives(std::size_t rank, std::size_t index) const {
    return step(rank, index).kind == StepKind::receive;
  }

  bool sweep() {
    bool progress = false;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (std::size_t i = ranks_[rank].compute_cursor; i < ranks_[rank].done.size(); ++i)
        while (!receives(rank, i) && runnable(rank, i) && run_unit(rank, i)) progress = true;
    }
    return progress;
  }

  /// Whether the step's next unit may run, as far as this rank alone knows.
  bool runnable(std::size_t rank, std::size_t index) {
    RankState& state = ranks_[rank];
    const auto unit = state.done[index];
    if (unit == units_) return false;
    const auto cursor = receives(rank, index) ? state.receive_cursor : state.compute_cursor;
    if (order_ == Order::one_by_one && index != cursor) return false;
    return std::ranges::all_of(schedules_[rank].sources_of(step(rank, index)),
                               [&](auto slot) { return state.slots[slot].size() > unit; });
  }

  /// Runs one unit of a runnable step; false when another rank is not ready for it.
  bool run_unit(std::size_t rank, std::size_t index) {
    const Step& step = this->step(rank, index);
    const auto unit = ranks_[rank].done[index];
    const ChunkRange& chunks = schedules_[rank].chunks_of(step);
    switch (step.kind) {
      case StepKind::receive: return false;  // ends together with its send
      case StepKind::send: return deliver(rank, index);
      case StepKind::offload: return reduce_everywhere(chunks, unit);
      case StepKind::encode: write(rank, index, contribution(rank, chunks, unit)); break;
      case StepKind::merge: write(rank, index, merged(rank, step, unit)); break;
      case StepKind::join: write(rank, index, joined(rank, step, unit)); break;
      case StepKind::decode:
        for (std::uint32_t c = 0; c < chunks.count; ++c)
          ranks_[rank].output[chunks.first + c].push_back(first_source(rank, index)[c]);
        break;
    }
    end_unit(rank, index);
    return true;
  }

  bool deliver(std::size_t rank, std::size_t index) {
    const Arrival arrival = arrivals_.at({rank, index});
    if (!runnable(arrival.rank, arrival.step)) return false;
    write(arrival.rank, arrival.step, first_source(rank, index));
    end_unit(arrival.rank, arrival.step);
    end_unit(rank, index);
    return true;
  }

  Value contribution(std::size_t rank, const ChunkRange& chunks, std::uint32_t unit) {
    Value trees;
    for (std::uint32_t chunk = chunks.first; chunk < chunks.end(); ++chunk)
      trees.push_back(trees_.contribution(static_cast<int>(rank), chunk, unit));
    return trees;
  }

  bool reduce_everywhere(const ChunkRange& chunks, std::uint32_t unit) {
    std::vector<std::size_t> steps;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto index = offload_of(rank, chunks);
      if (index == ranks_[rank].done.size() || ranks_[rank].done[index] != unit ||
          !runnable(rank, index))
        return false;
      steps.push_back(index);
    }
    Value sum = first_source(0, steps[0]);
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank)
      add(sum, first_source(rank, steps[rank]), 0);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      write(rank, steps[rank], sum);
      end_unit(rank, steps[rank]);
    }
    return true;
  }

  /// Adds what `values` hold from number `first` on.
  void add(Value& sum, const Value& values, std::size_t first) {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] = trees_.sum(sum[c], values[first + c]);
  }

  std::size_t offload_of(std::size_t rank, const ChunkRange& chunks) const {
    const auto& steps = schedules_[rank].steps;
    const auto found = std::ranges::find_if(steps, [&](const Step& step) {
      return step.kind == StepKind::offload && schedules_[rank].chunks_of(step) == chunks;
    });
    return static_cast<std::size_t>(found - steps.begin());
  }

  Value merged(std::size_t rank, const Step& step, std::uint32_t unit) {
    const auto sources = schedules_[rank].sources_of(step);
    const ChunkRange& chunks = schedules_[rank].chunks_of(step);
    Value sum;
    for (const auto source : sources) {
      const Value& held = ranks_[rank].slots[source][unit];
      const std::size_t first = chunks.first - schedules_[rank].slots[source].chunks.first;
      if (source != sources.front())
        add(sum, held, first);
      else
        sum.assign(held.begin() + std::ptrdiff_t(first),
                   held.begin() + std::ptrdiff_t(first + chunks.count));
    }
    return sum;
  }

  Value joined(std::size_t rank, const Step& step, std::uint32_t unit) {
    Value all;
    for (const auto source : schedules_[rank].sources_of(step)) {
      const Value& part = ranks_[rank].slots[source][unit];
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  const Value& first_source(std::size_t rank, std::size_t index) const {
    const auto slot = schedules_[rank].sources_of(step(rank, index)).front();
    return ranks_[rank].slots[slot][ranks_[rank].done[index]];
  }

  void write(std::size_t rank, std::size_t index, Value value) {
    ranks_[rank].slots[step(rank, index).result].push_back(std::move(value));
  }

  void end_unit(std::size_t rank, std::size_t index) {
    ++ranks_[rank].done[index];
    move_cursors(rank);
  }

  void move_cursors(std::size_t rank) {
    RankState& state = ranks_[rank];
    const auto move = [&](std::size_t& cursor, bool over_receives) {
      while (cursor < state.done.size() &&
             (receives(rank, cursor) != over_receives || state.done[cursor] == units_))
        ++cursor;
    };
    move(state.compute_cursor, false);
    move(state.receive_cursor, true);
  }

  void check_ended() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].compute_cursor < ranks_[rank].done.size())
        problems_.push_back("rank " + std::to_string(rank) + ": step " +
                            std::to_string(ranks_[rank].compute_cursor) + " hangs when steps run " +
                            (order_ == Order::when_ready ? "when ready" : "one by one"));
  }

  void check_slots() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t slot = 0; slot < ranks_[rank].slots.size(); ++slot)
        for (const Value& value : ranks_[rank].slots[slot])
          for (const Tree tree : value) check_counts(rank, slot, trees_.counts(tree));
  }

  void check_counts(std::size_t rank, std::size_t slot, const std::vector<std::uint32_t>& counts) {
    const auto where = "rank " + std::to_string(rank) + ": slot " + std::to_string(slot);
    std::uint32_t total = 0;
    for (const auto count : counts) total += count;
    if (std::ranges::any_of(counts, [](auto count) { return count > 1; }))
      problems_.push_back(where + " holds a contribution twice");
    if (total != schedules_[rank].slots[slot].contributions)
      problems_.push_back(where + " does not hold as many contributions as it declares");
  }

  void check_output() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const auto& chunk : ranks_[rank].output)
        for (const Tree tree : chunk)
          if (std::ranges::any_of(trees_.counts(tree), [](auto count) { return count != 1; }))
            problems_.push_back("rank " + std::to_string(rank) + " decodes an unfinished sum");
    }
    for (std::uint32_t chunk = 0; chunk < schedules_.front().chunks; ++chunk) check_orders(chunk);
  }

  /// Of those who decode the chunk.
  void check_orders(std::uint32_t chunk) {
    const std::vector<Tree>* first = nullptr;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::vector<Tree>& output = ranks_[rank].output[chunk];
      if (output.empty()) continue;
      if (first == nullptr) first = &output;
      if (output != *first)
        problems_.push_back("rank " + std::to_string(rank) + " merged chunk " +
                            std::to_string(chunk) + " in another order than others");
    }
  }

  std::span<const Schedule> schedules_;
  const Arrivals& arrivals_;
  std::uint32_t units_;
  Order order_;
  MergeTrees trees_;
  std::vector<RankState> ranks_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> run_symbolically(std::span<const Schedule> schedules,
                                          const Arrivals& arrivals, std::uint32_t units,
                                          Order order) {
  return SymbolicRun(schedules, arrivals, units, order).run();
}

}  // namespace cohom::testing
