#pragma once
// ProgressThread: advances calls that ask for it (progress=thread) while their own threads do
// something else, for example block in MPI.

#include "call/thread_progress.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cohom {

class ProgressThread {
 public:
  /// That of the process: it is started by the first who asks, and ends with the last.
  /// @throws std::system_error when the system has no thread
  static std::shared_ptr<ProgressThread> shared();

  ProgressThread();
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Advances the communicator's calls from now on, until none is in flight. It never owns the
  /// communicator. @throws std::bad_alloc
  void advance(const std::shared_ptr<ProgressHandle>& communicator);

 private:
  using Handles = std::vector<std::shared_ptr<ProgressHandle>>;

  void run();
  /// What there is to advance; waits until there is something. Empty: the thread is to end.
  [[nodiscard]] const Handles& wait_for_calls();
  bool advance_all();

  /// In a forked process it is no thread: nobody may join it, and the end of what it waits for
  /// would wait for it.
  struct Thread {
    std::condition_variable wake;
    std::thread thread;
  };

  int process_;
  std::mutex mutex_;
  Handles added_;
  bool ending_ = false;
  Handles communicators_;  ///< the thread's own
  std::unique_ptr<Thread> thread_;
};

}  // namespace cohom
