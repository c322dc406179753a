#include "executor/workspace.hpp"

#include "executor/round_run.hpp"

namespace cohom {

void Workspace::take() {
  if (taken_) return;
  std::size_t words = 0;
  for (const RoundRun* const round : rounds_)
    if (round->memory().is_host()) words += round->workspace_words();
  if (take_) lent_ = take_(words * 8);
  if (!lent_) own_ = {host_memory(), words};
  auto* next = reinterpret_cast<std::uint64_t*>(of_host().data());
  for (RoundRun* const round : rounds_) {
    if (round->memory().is_host()) {
      round->set_workspace(next);
      next += round->workspace_words();
    } else {
      apart_ = {round->memory(), round->workspace_words()};
      round->set_workspace(apart_.data());
    }
  }
  taken_ = true;
}

std::size_t Workspace::bytes() const {
  std::size_t words = 0;
  for (const RoundRun* const round : rounds_) words += round->workspace_words();
  return words * 8;
}

}  // namespace cohom
