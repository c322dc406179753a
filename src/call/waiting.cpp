#include "call/waiting.hpp"

#include "call/backoff.hpp"

namespace cohom {

void complete(const CallImpl& call, CallQueue* queue) {
  if (call.done()) return;  // its queue may be gone
  Backoff backoff(queue->has_own_core());
  while (!call.done()) {
    if (progress_in_this_thread(*queue)) {
      backoff.moved();
    } else {
      backoff.wait();
      queue->waited();
    }
  }
}

void wait_for(const CallImpl& call, CallQueue* queue) {
  complete(call, queue);
  if (call.error()) throw Error(*call.error());
}

bool test(const CallImpl& call, CallQueue* queue) {
  if (!call.done()) progress_in_this_thread(*queue);
  if (call.done() && call.error()) throw Error(*call.error());
  return call.done();
}

}  // namespace cohom
