#include "support/schedule_rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace cohom::testing {
namespace {

class RuleChecker {
 public:
  RuleChecker(const Schedule& schedule, const Wanted& wanted)
      : schedule_(schedule),
        wanted_(wanted),
        writers_(schedule.slots.size()),
        readers_(schedule.slots.size()) {}

  std::vector<std::string> run() {
    check_shape();
    // The other rules index with what the shape rules vouch for.
    if (!problems_.empty()) return std::move(problems_);
    check_order();
    if (!problems_.empty()) return std::move(problems_);
    check_steps();
    check_buffers();
    check_sequences();
    check_chunks();
    return std::move(problems_);
  }

 private:
  void problem(const std::string& text) {
    problems_.push_back("rank " + std::to_string(schedule_.rank) + ": " + text);
  }
  void step_problem(std::size_t step, const std::string& text) {
    problem("step " + std::to_string(step) + " " + text);
  }
  const Step& step(std::size_t index) const { return schedule_.steps[index]; }
  const Slot& source(const Step& step, std::size_t index) const {
    return schedule_.slots[schedule_.sources_of(step)[index]];
  }

  void check_shape() {
    for (const Slot& slot : schedule_.slots)
      if (slot.chunks.count == 0 || slot.chunks.end() > schedule_.chunks ||
          slot.buffer >= schedule_.buffers)
        problem("a slot names a chunk or buffer that does not exist");
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) check_shape(i);
  }

  void check_shape(std::size_t index) {
    const Step& step = schedule_.steps[index];
    const bool has_result = step.kind != StepKind::send && step.kind != StepKind::decode;
    const bool has_sources = step.kind != StepKind::encode && step.kind != StepKind::receive;
    const bool has_peer = step.kind == StepKind::send || step.kind == StepKind::receive;
    if (has_result ? step.result >= schedule_.slots.size() : step.result != Step::no_slot)
      step_problem(index, "has a bad result");
    if (has_sources != (step.source_count > 0) ||
        (step.kind != StepKind::merge && step.kind != StepKind::join && step.source_count > 1))
      step_problem(index, "has a bad number of sources");
    if (step.first_source + std::size_t{step.source_count} > schedule_.sources.size())
      return step_problem(index, "has sources outside the list");
    for (const auto source : schedule_.sources_of(step))
      if (source >= schedule_.slots.size()) step_problem(index, "reads a slot that does not exist");
    if (has_peer && (step.peer < 0 || step.peer >= schedule_.ranks || step.peer == schedule_.rank))
      step_problem(index, "has a bad peer");
  }

  void check_order() {
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
      for (const auto slot : schedule_.sources_of(step(i))) {
        if (writers_[slot].empty()) step_problem(i, "reads a slot before it is written");
        readers_[slot].push_back(i);
      }
      if (step(i).result != Step::no_slot) writers_[step(i).result].push_back(i);
    }
    for (std::size_t slot = 0; slot < schedule_.slots.size(); ++slot) {
      if (writers_[slot].size() != 1)
        problem("slot " + std::to_string(slot) + " is not written exactly once");
      if (readers_[slot].empty()) problem("slot " + std::to_string(slot) + " is never read");
    }
  }

  void check_steps() {
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
      switch (step(i).kind) {
        case StepKind::merge: check_merge(i); break;
        case StepKind::join: check_join(i); break;
        case StepKind::offload: check_offload(i); break;
        case StepKind::decode:
          if (source(step(i), 0).form != Form::wide) step_problem(i, "decodes a narrow slot");
          break;
        case StepKind::encode:
        case StepKind::receive:
        case StepKind::send: break;
      }
    }
  }

  void check_merge(std::size_t index) {
    const Step& merge = step(index);
    const Slot& sum = schedule_.slots[merge.result];
    const Form form = source(merge, 0).form;
    if (sum.form != Form::wide) step_problem(index, "merges into a narrow slot");
    if (merge.source_count == 1 && form == Form::wide && source(merge, 0).chunks == sum.chunks)
      step_problem(index, "merges a single wide slot");
    for (const auto slot : schedule_.sources_of(merge)) {
      if (!schedule_.slots[slot].chunks.contains(sum.chunks))
        step_problem(index, "merges across chunks");
      if (schedule_.slots[slot].form != form) step_problem(index, "merges across forms");
      if (form == Form::wide && schedule_.slots[slot].room > sum.room)
        step_problem(index, "merges what has room for more contributions");
    }
  }

  void check_join(std::size_t index) {
    const Step& join = step(index);
    const Slot& all = schedule_.slots[join.result];
    std::uint32_t end = all.chunks.first;
    for (const auto slot : schedule_.sources_of(join)) {
      const Slot& part = schedule_.slots[slot];
      if (part.chunks.first != end) step_problem(index, "joins chunks that are no neighbours");
      if (part.form != all.form || part.contributions != all.contributions || part.room != all.room)
        step_problem(index, "joins other forms, contributions or rooms");
      end = part.chunks.end();
    }
    if (end != all.chunks.end()) step_problem(index, "joins other chunks than it says");
  }

  void check_offload(std::size_t index) {
    const Slot& before = source(step(index), 0);
    const Slot& after = schedule_.slots[step(index).result];
    if (before.chunks != after.chunks || before.form != after.form)
      step_problem(index, "offloads into another chunk or form");
    if (before.form != Form::wide) step_problem(index, "offloads a narrow slot");
  }

  void check_buffers() {
    std::map<std::uint32_t, std::uint32_t> content;  // buffer -> slot it holds
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
      const auto result = step(i).result;
      if (result == Step::no_slot) continue;
      const auto [held, fresh] = content.try_emplace(schedule_.slots[result].buffer, result);
      if (!fresh) check_replacement(i, held->second);
      held->second = result;
    }
  }

  void check_replacement(std::size_t index, std::uint32_t old_slot) {
    const Step& step = schedule_.steps[index];
    const Slot& before = schedule_.slots[old_slot];
    const Slot& after = schedule_.slots[step.result];
    if (before.chunks != after.chunks || before.form != after.form || before.room != after.room)
      step_problem(index, "changes the chunk, form or room of a buffer");
    if (readers_[old_slot] != std::vector{index})
      step_problem(index, "overwrites a slot that other steps read, or does not read it itself");
    if (step.kind == StepKind::offload) return;
    if (step.kind == StepKind::merge && schedule_.slots[step.result].chunks.count > 1)
      step_problem(index, "merges several chunks in place");
    if (schedule_.steps[writers_[old_slot].front()].kind == StepKind::encode)
      step_problem(index, "overwrites a contribution");
    // From the third source on, the partial sum would already lie where the source still is.
    if (step.source_count > 2 && schedule_.sources_of(step).front() != old_slot)
      step_problem(index, "merges in place into a source that is still to be read");
  }

  void check_sequences() {
    std::set<std::tuple<StepKind, int, std::uint32_t>> seen;
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
      const auto& [kind, peer, sequence_id] =
          std::tie(step(i).kind, step(i).peer, step(i).sequence_id);
      if (kind != StepKind::send && kind != StepKind::receive) continue;
      if (sequence_id >= sequence_id_limit) step_problem(i, "has too large a sequence id");
      if (!seen.emplace(kind, peer, sequence_id).second)
        step_problem(i, "uses a sequence id again");
    }
  }

  void check_chunks() {
    std::vector<int> encoded(schedule_.chunks), decoded(schedule_.chunks);
    for (const Step& step : schedule_.steps) {
      const ChunkRange& chunks = schedule_.chunks_of(step);
      for (std::uint32_t chunk = chunks.first; chunk < chunks.end(); ++chunk) {
        if (step.kind == StepKind::encode) ++encoded[chunk];
        if (step.kind == StepKind::decode) ++decoded[chunk];
      }
    }
    for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
      if (encoded[chunk] != 1)
        problem("chunk " + std::to_string(chunk) + " is not encoded exactly once");
      const bool wanted = !wanted_ || wanted_(schedule_.rank, chunk);
      if (decoded[chunk] != (wanted ? 1 : 0))
        problem("chunk " + std::to_string(chunk) +
                (wanted ? " is not decoded exactly once" : " is decoded, and not wanted"));
    }
  }

  const Schedule& schedule_;
  const Wanted& wanted_;
  std::vector<std::vector<std::size_t>> writers_;  // steps, by slot
  std::vector<std::vector<std::size_t>> readers_;  // steps, by slot
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_rules(const Schedule& schedule, const Wanted& wanted) {
  return RuleChecker(schedule, wanted).run();
}

}  // namespace cohom::testing
