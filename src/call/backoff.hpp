#pragma once
// Backoff: what a thread does that waits for others.

#include <chrono>
#include <thread>

namespace cohom {

/// Yields for a while, because more ranks than cores is the normal case; then sleeps, which saves a
/// third of the processor time and costs little latency. Who has a core of its own yields to
/// nobody for some microseconds first.
class Backoff {
 public:
  explicit Backoff(bool has_own_core) : spins_(has_own_core ? 20 : 0) {}

  void moved() { idle_ = 0; }
  void wait() {
    if (++idle_ < spins_) return;
    if (idle_ < spins_ + 2000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(30));
  }

 private:
  int spins_;
  int idle_ = 0;
};

}  // namespace cohom
