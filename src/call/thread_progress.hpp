#pragma once
// What a thread that waits for one call does for its other communicators. Ranks may wait for calls
// of different communicators in different orders, as MPI allows, so waiting for one call must
// advance all.

#include <cstddef>
#include <memory>
#include <mutex>

namespace cohom {

class ProgressHandle;

/// The calls of one communicator, as those see them who wait.
class CallQueue {
 public:
  /// Advances the calls in flight; whether anything moved. Takes the lock.
  virtual bool progress() = 0;
  /// The same, but does nothing when another thread has the lock.
  virtual bool progress_if_free() = 0;
  /// Whether no call is in flight; false, too, when another thread has the lock.
  [[nodiscard]] virtual bool idle() = 0;
  /// Calls in flight, but for those that only wait to tell an error that nobody may ever hear of.
  [[nodiscard]] virtual std::size_t calls_in_flight() = 0;
  /// Blocks until there are none, and forgets the others.
  virtual void complete_calls() = 0;
  /// For threads that started calls.
  [[nodiscard]] virtual const std::shared_ptr<ProgressHandle>& progress_handle() const = 0;
  /// There is a core for this rank, as far as anybody knows.
  [[nodiscard]] virtual bool has_own_core() const = 0;
  /// The time since somebody asked last was spent waiting. For profiles; takes the lock.
  virtual void waited() = 0;

 protected:
  ~CallQueue() = default;
};

/// How threads reach a communicator that its owner may destroy at any time. None of them owns it,
/// not even for a moment: else the last to let go would destroy it, which waits for calls and calls
/// MPI, in a thread that has nothing to do with it.
class ProgressHandle {
 public:
  explicit ProgressHandle(CallQueue& calls) : calls_(&calls) {}

  /// Waits for a thread that is advancing the communicator; from then on none does.
  void close();
  /// Advances the communicator's calls unless another thread is using it; whether anything moved.
  bool progress();
  /// Nothing to advance: the communicator is gone, or has no call in flight.
  [[nodiscard]] bool idle();
  [[nodiscard]] bool closed();
  [[nodiscard]] std::size_t calls_in_flight();
  /// Blocks until the communicator has no call in flight.
  void complete_calls();

 private:
  std::recursive_mutex mutex_;  ///< finishing calls advances those of all communicators
  CallQueue* calls_;
};

/// From now on this thread advances the communicator's calls whenever it waits, until none is in
/// flight.
void advance_in_this_thread(const std::shared_ptr<ProgressHandle>& communicator);

/// Whether of the communicators that this thread started calls on no other than `own` has a call in
/// flight.
bool others_are_idle(const CallQueue& own);

/// Advances the calls of `own`, and of the communicators that this thread started calls on; whether
/// anything moved. One that another thread is using at the moment is left alone.
bool progress_in_this_thread(CallQueue& own);

}  // namespace cohom
