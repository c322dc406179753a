#pragma once
// How a thread waits for a call: it advances the calls that it started, on any communicator.

#include "call/call.hpp"
#include "call/thread_progress.hpp"

namespace cohom {

/// Blocks until the call, which is one of `queue`, is done. Of a call that is, the queue may be
/// gone.
void complete(const CallImpl& call, CallQueue* queue);
/// The same; throws the call's error.
void wait_for(const CallImpl& call, CallQueue* queue);
/// Advances calls once; throws the call's error when it is done with one. Whether it is done.
bool test(const CallImpl& call, CallQueue* queue);

}  // namespace cohom
