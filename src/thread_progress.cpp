#include "thread_progress.hpp"

#include "communicator_impl.hpp"

#include <algorithm>
#include <vector>

namespace cohom {

namespace {

std::vector<std::weak_ptr<CommunicatorImpl>>& communicators_of_thread() {
  thread_local std::vector<std::weak_ptr<CommunicatorImpl>> communicators;
  return communicators;
}

}  // namespace

void advance_in_this_thread(const std::shared_ptr<CommunicatorImpl>& communicator) {
  auto& all = communicators_of_thread();
  const bool known = std::ranges::any_of(all, [&](const auto& one) {
    return !one.owner_before(communicator) && !communicator.owner_before(one);
  });
  if (!known) all.push_back(communicator);
}

bool progress_in_this_thread(CommunicatorImpl& own) {
  bool moved = own.progress();
  auto& all = communicators_of_thread();
  if (all.size() > 1 || (all.size() == 1 && all[0].lock().get() != &own)) {
    for (const auto& one : all) {
      const auto other = one.lock();
      if (other && other.get() != &own) moved |= other->progress_if_free();
    }
  }
  std::erase_if(all, [](const auto& one) {
    const auto communicator = one.lock();
    return !communicator || communicator->idle();
  });
  return moved;
}

}  // namespace cohom
