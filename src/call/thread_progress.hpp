#pragma once
// What a thread that waits for one call does for its other communicators. Ranks may wait for calls of
// different communicators in different orders, as MPI allows, so waiting for one call must advance all.

#include <cstddef>
#include <memory>
#include <mutex>

namespace cohom {

class CommunicatorImpl;

/// How threads reach a communicator that its owner may destroy at any time. None of them owns it,
/// not even for a moment: else the last to let go would destroy it, which waits for calls and calls
/// MPI, in a thread that has nothing to do with it.
class ProgressHandle {
 public:
  explicit ProgressHandle(CommunicatorImpl& communicator) : communicator_(&communicator) {}

  /// Waits for a thread that is advancing the communicator; from then on none does.
  void close();
  /// Advances the communicator's calls unless another thread is using it; whether anything moved.
  bool progress();
  /// Nothing to advance: the communicator is gone, or has no call in flight.
  [[nodiscard]] bool idle();
  [[nodiscard]] bool closed();
  [[nodiscard]] std::size_t calls_in_flight();
  /// Blocks until the communicator has no call in flight.
  void finish_calls();

 private:
  std::recursive_mutex mutex_;  ///< finishing calls advances those of all communicators
  CommunicatorImpl* communicator_;
};

/// From now on this thread advances the communicator's calls whenever it waits, until none is in
/// flight.
void advance_in_this_thread(const std::shared_ptr<ProgressHandle>& communicator);

/// Advances the calls of `own`, and of the communicators that this thread started calls on; whether
/// anything moved. One that another thread is using at the moment is left alone.
bool progress_in_this_thread(CommunicatorImpl& own);

}  // namespace cohom
