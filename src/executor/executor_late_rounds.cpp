// Executor: rounds that run only when earlier ones, or the payload, left something over.

#include "executor/executor.hpp"

#include "base/log.hpp"

#include <cohom/error.hpp>

#include <algorithm>
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

bool Executor::has_late_rounds() const {
  return std::ranges::any_of(setup_.codec->rounds(),
                             [](const Round* round) { return round->traits().late(); });
}

void Executor::prepare_late_rounds(CallSignature& signature) {
  late_decided_ = true;
  for (int round = payload_ + 1; round < static_cast<int>(rounds_.size()); ++round)
    if (traits_of(std::size_t(round)).late()) prepare_late_round(round, signature);
}

void Executor::prepare_late_round(int round, CallSignature& signature) {
  const auto index = std::size_t(round);
  const std::string_view name = traits_of(index).name;
  const std::size_t elements = setup_.codec->rounds()[index]->late_elements();
  signature.number(name, elements);
  if (elements > setup_.elements)
    throw Error(ErrorKind::transport, "round " + std::string(name) + " would have " +
                                          std::to_string(elements) + " elements of " +
                                          std::to_string(setup_.elements) +
                                          ": words were changed on their way");
  if (elements == 0) return;
  log_once_for_all(setup_.rank,
                   "round " + std::string(name) +
                       " runs: elements that the payload cannot hold, or lost, travel apart");
  const AlgorithmRow& algorithm = algorithm_of(round);
  Late& late = late_[index];
  late.chunking = std::make_unique<Chunking>(make_chunking(round, algorithm, elements));
  late.round = make_round(round, algorithm, *late.chunking);
  late.workspace = {host_memory(), late.round->workspace_words()};
  late.round->set_workspace(late.workspace.data());
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
