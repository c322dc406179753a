// Executor: rounds that run only when earlier ones, or the payload, left something over.

#include "executor.hpp"

#include "log.hpp"

#include <string>

namespace cohom {

bool Executor::late_rounds_due() const {
  if (!open_ || late_decided_) return false;
  const auto last = std::size_t(payload_);
  if (late_wait_for_payload_) return !running(last) || running(last)->finished();
  for (std::size_t r = 0; r < last; ++r)
    if (running(r) != nullptr && !running(r)->all_agreed()) return false;
  return true;
}

bool Executor::prepare_late_rounds() {
  late_decided_ = true;
  bool any = false;
  for (int round = payload_ + 1; round < static_cast<int>(rounds_.size()); ++round)
    any |= prepare_late_round(round);
  return any;
}

bool Executor::prepare_late_round(int round) {
  const auto index = std::size_t(round);
  if (setup_.codec->rounds()[index].scope != RoundScope::late) return false;
  const std::size_t elements = setup_.codec->late_elements(round, *this);
  if (elements == 0) return false;
  log_once("round " + std::string(setup_.codec->rounds()[index].name) +
           " runs: elements that the payload cannot hold, or lost, travel apart");
  const AlgorithmRow& algorithm = algorithm_of(round);
  Late& late = late_[index];
  late.chunking = std::make_unique<Chunking>(make_chunking(round, algorithm, elements));
  late.round = make_round(round, algorithm, *late.chunking);
  late.workspace = {host_memory(), late.round->workspace_words()};
  late.round->set_workspace(late.workspace.data());
  return true;
}

void Executor::start_late_rounds() {
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!late_[r].round) continue;
    rounds_[r] = std::move(late_[r].round);
    begin_round(r);
    rounds_[r]->open();
  }
}

void Executor::skip_late_rounds() {
  for (Late& late : late_) late = {};
}

}  // namespace cohom
