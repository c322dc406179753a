#pragma once
// What a thread that waits for one call does for its other communicators. Ranks may wait for calls of
// different communicators in different orders, as MPI allows, so waiting for one call must advance all.

#include <memory>

namespace cohom {

class CommunicatorImpl;

/// From now on this thread advances the communicator's calls whenever it waits, until none is in
/// flight.
void advance_in_this_thread(const std::shared_ptr<CommunicatorImpl>& communicator);

/// Advances the calls of `own`, and of the communicators that this thread started calls on; whether
/// anything moved. One that another thread is using at the moment is left alone.
bool progress_in_this_thread(CommunicatorImpl& own);

}  // namespace cohom
