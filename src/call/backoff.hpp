#pragma once
// Backoff: what a thread does that waits for others.

#include <chrono>
#include <thread>

namespace cohom {

/// Yields for a while, because more ranks than cores is the normal case; then sleeps, which saves a
/// third of the processor time and costs little latency.
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

}  // namespace cohom
