#include "call/progress_thread.hpp"

#include "base/block_signals.hpp"
#include "call/backoff.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace cohom {

std::shared_ptr<ProgressThread> ProgressThread::shared() {
  static std::mutex mutex;
  static std::weak_ptr<ProgressThread> known;
  const std::lock_guard lock(mutex);
  auto thread = known.lock();
  // A forked process has the object, and not the thread.
  if (!thread || thread->process_ != ::getpid())
    known = thread = std::make_shared<ProgressThread>();
  return thread;
}

ProgressThread::ProgressThread() : process_(::getpid()) {
  const NoSignals no_signals;
  thread_ = std::make_unique<Thread>();
  thread_->thread = std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  if (process_ != ::getpid()) {
    static_cast<void>(thread_.release());
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  thread_->wake.notify_all();
  thread_->thread.join();
}

void ProgressThread::advance(const std::shared_ptr<ProgressHandle>& communicator) {
  {
    const std::lock_guard lock(mutex_);
    added_.push_back(communicator);
  }
  thread_->wake.notify_one();
}

const ProgressThread::Handles& ProgressThread::wait_for_calls() {
  std::unique_lock lock(mutex_);
  thread_->wake.wait(lock,
                     [this] { return ending_ || !added_.empty() || !communicators_.empty(); });
  if (ending_) communicators_.clear();
  for (auto& added : added_)
    if (std::ranges::find(communicators_, added) == communicators_.end())
      communicators_.push_back(std::move(added));
  added_.clear();
  if (ending_) communicators_.clear();
  return communicators_;
}

bool ProgressThread::advance_all() {
  bool moved = false;
  for (const auto& communicator : communicators_) moved |= communicator->progress();
  std::erase_if(communicators_, [](const auto& communicator) { return communicator->idle(); });
  return moved;
}

void ProgressThread::run() {
  pthread_setname_np(pthread_self(), "cohom-progress");
  Backoff backoff(false);
  while (!wait_for_calls().empty()) {
    if (advance_all())
      backoff.moved();
    else
      backoff.wait();
  }
}

}  // namespace cohom
