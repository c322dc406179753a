#include "call/thread_progress.hpp"

#include <algorithm>
#include <vector>

namespace cohom {

namespace {

std::vector<std::shared_ptr<ProgressHandle>>& communicators_of_thread() {
  thread_local std::vector<std::shared_ptr<ProgressHandle>> communicators;
  return communicators;
}

}  // namespace

void ProgressHandle::close() {
  const std::lock_guard lock(mutex_);
  calls_ = nullptr;
}

bool ProgressHandle::progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && calls_ != nullptr && calls_->progress_if_free();
}

bool ProgressHandle::idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && (calls_ == nullptr || calls_->idle());
}

bool ProgressHandle::closed() {
  const std::lock_guard lock(mutex_);
  return calls_ == nullptr;
}

std::size_t ProgressHandle::calls_in_flight() {
  const std::lock_guard lock(mutex_);
  return calls_ == nullptr ? 0 : calls_->calls_in_flight();
}

void ProgressHandle::complete_calls() {
  const std::lock_guard lock(mutex_);
  if (calls_ != nullptr) calls_->complete_calls();
}

void advance_in_this_thread(const std::shared_ptr<ProgressHandle>& communicator) {
  auto& all = communicators_of_thread();
  if (std::ranges::find(all, communicator) == all.end()) all.push_back(communicator);
}

bool others_are_idle(const CallQueue& own) {
  return std::ranges::all_of(communicators_of_thread(), [&](const auto& one) {
    return one == own.progress_handle() || one->idle();
  });
}

bool progress_in_this_thread(CallQueue& own) {
  bool moved = own.progress();
  auto& all = communicators_of_thread();
  // The usual case costs nothing; who has several forgets what is over.
  if (all.size() == 1 && all.front() == own.progress_handle()) return moved;
  for (const auto& one : all)
    if (one != own.progress_handle()) moved |= one->progress();
  std::erase_if(all, [](const auto& one) { return one->idle(); });
  return moved;
}

}  // namespace cohom
