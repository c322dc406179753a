#include "call/waiting.hpp"

#include "base/phase_timer.hpp"

#include <chrono>
#include <thread>

namespace cohom {

namespace {

/// What a rank does that waits for others: yield for a while, because more ranks than cores is the
/// normal case; then sleep, which saves a third of the processor time and costs little latency.
class Backoff {
 public:
  void moved() { idle_ = 0; }
  void wait() {
    if (++idle_ < 2000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(30));
  }

 private:
  int idle_ = 0;
};

}  // namespace

void complete(const CallImpl& call, CallQueue* queue) {
  Backoff backoff;
  while (!call.done()) {
    if (progress_in_this_thread(*queue)) {
      backoff.moved();
    } else {
      backoff.wait();
      end_phase(queue->profile(), Phase::wait);
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
