#include "support/chunk_proof.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace cohom::testing {
namespace {

/// Which ranks' contributions something holds.
using Ranks = std::vector<bool>;
using Held = std::shared_ptr<const Ranks>;

/// What one rank's schedule says of a chunk.
struct ChunkSteps {
  std::vector<Step> steps;
  std::vector<std::vector<std::uint32_t>> sources;  ///< by step: slots that have the chunk
  std::map<std::uint32_t, Slot> slots;
  std::map<std::uint32_t, std::size_t> writers;  ///< steps, by slot
};

bool has(const ChunkRange& chunks, std::uint32_t chunk) {
  return chunks.contains(ChunkRange(chunk));
}

ChunkSteps steps_of(const Schedule& schedule, std::uint32_t chunk) {
  ChunkSteps found;
  for (const Step& step : schedule.steps) {
    if (!has(schedule.chunks_of(step), chunk)) continue;
    if (step.result != Step::no_slot) {
      found.slots[step.result] = schedule.slots[step.result];
      found.writers[step.result] = found.steps.size();
    }
    found.steps.push_back(step);
    auto& sources = found.sources.emplace_back();
    for (const std::uint32_t source : schedule.sources_of(step))
      if (has(schedule.slots[source].chunks, chunk)) sources.push_back(source);
  }
  return found;
}

class ChunkProof {
 public:
  ChunkProof(std::vector<ChunkSteps> ranks) : ranks_(std::move(ranks)), held_(ranks_.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t i = 0; i < ranks_[rank].steps.size(); ++i) {
        const Step& step = ranks_[rank].steps[i];
        if (step.kind == StepKind::send)
          sends_[{rank, std::size_t(step.peer), step.sequence_id}] = ranks_[rank].sources[i][0];
      }
  }

  std::vector<std::string> run() {
    for (std::size_t rank = 0; rank < ranks_.size() && problems_.size() < 5; ++rank) {
      int decodes = 0;
      for (std::size_t i = 0; i < ranks_[rank].steps.size(); ++i) {
        const StepKind kind = ranks_[rank].steps[i].kind;
        if (kind != StepKind::decode && kind != StepKind::send) continue;
        const Held sum = held(rank, ranks_[rank].sources[i][0]);
        if (kind != StepKind::decode) continue;
        ++decodes;
        if (std::ranges::count(*sum, false) != 0) problem(rank, "decodes an unfinished sum");
      }
      if (decodes != 1) problem(rank, "decodes it " + std::to_string(decodes) + " times");
    }
    if (received_ != sends_.size()) problem(0, "or another rank sends what nobody receives");
    return std::move(problems_);
  }

 private:
  void problem(std::size_t rank, const std::string& text) {
    problems_.push_back("rank " + std::to_string(rank) + " " + text);
  }

  Held held(std::size_t rank, std::uint32_t slot) {
    Held& known = held_[rank][slot];
    if (known) return known;
    const std::size_t writer = ranks_[rank].writers.at(slot);
    Held found = written(rank, ranks_[rank].steps[writer], ranks_[rank].sources[writer]);
    const auto count = std::size_t(std::ranges::count(*found, true));
    if (count != ranks_[rank].slots[slot].contributions)
      problem(rank,
              "does not hold as many contributions as slot " + std::to_string(slot) + " declares");
    return held_[rank][slot] = found;
  }

  Held written(std::size_t rank, const Step& step, const std::vector<std::uint32_t>& sources) {
    if (step.kind == StepKind::receive) return received(rank, step);
    if (step.kind == StepKind::join) return held(rank, sources.at(0));
    Ranks all(ranks_.size());
    if (step.kind == StepKind::encode) all[rank] = true;
    for (const std::uint32_t source : sources) {
      const Ranks& part = *held(rank, source);
      for (std::size_t r = 0; r < part.size(); ++r) {
        if (part[r] && all[r]) problem(rank, "adds a contribution twice");
        if (part[r]) all[r] = true;
      }
    }
    return std::make_shared<const Ranks>(std::move(all));
  }

  Held received(std::size_t rank, const Step& step) {
    const auto peer = static_cast<std::size_t>(step.peer);
    const auto sent = sends_.find({peer, rank, step.sequence_id});
    if (sent == sends_.end()) {
      problem(rank, "receives what nobody sends");
      return std::make_shared<const Ranks>(ranks_.size());
    }
    ++received_;
    const Slot& there = ranks_[peer].slots.at(sent->second);
    const Slot& here = ranks_[rank].slots.at(step.result);
    if (std::tie(there.chunks, there.form, there.contributions, there.room) !=
        std::tie(here.chunks, here.form, here.contributions, here.room))
      problem(rank, "expects another slot than is sent to it");
    return held(peer, sent->second);
  }

  std::vector<ChunkSteps> ranks_;
  std::vector<std::map<std::uint32_t, Held>> held_;  ///< by rank and slot
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::uint32_t> sends_;  ///< slots
  std::size_t received_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_chunks(const AlgorithmRow& algorithm, int ranks,
                                      std::span<const std::uint32_t> chunks) {
  std::vector<std::vector<ChunkSteps>> by_chunk(chunks.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule schedule = algorithm.build(
        {.rank = rank, .ranks = ranks, .narrow = true, .promotes_some = true, .grows = true});
    for (std::size_t i = 0; i < chunks.size(); ++i)
      by_chunk[i].push_back(steps_of(schedule, chunks[i]));
  }
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    for (const std::string& text : ChunkProof(std::move(by_chunk[i])).run())
      problems.push_back("chunk " + std::to_string(chunks[i]) + ": " + text);
  return problems;
}

}  // namespace cohom::testing
