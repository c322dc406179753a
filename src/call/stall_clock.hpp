#pragma once
// StallClock: whether a call has made no progress for as long as its user waits.

#include <algorithm>
#include <chrono>

namespace cohom {

/// Counts the time in which somebody asks in vain: a rank that computes between two tests of its
/// request is not stalled. A monotonic clock, read once in a
/// few polls: where programs share a core, each poll may wait its turn for milliseconds.
class StallClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// `seconds` without progress; 0: no limit.
  explicit StallClock(double seconds) : limit_(seconds) {}

  void moved() { idle_polls_ = 0; }

  /// Nothing moved in this poll. Whether that has lasted for the limit.
  bool idle(Clock::time_point (*clock)() = &Clock::now) {
    if (limit_.count() == 0 || ++idle_polls_ % polls_a_check != 0) return false;
    const Clock::time_point now = clock();
    // A long gap is not ours: who asks again after it gets some more checks.
    const std::chrono::duration<double> gap = now - last_check_;
    waited_ = idle_polls_ == polls_a_check ? std::chrono::duration<double>::zero()
                                           : waited_ + std::min(gap, limit_ / gaps_in_limit);
    last_check_ = now;
    return waited_ >= limit_;
  }

  static constexpr unsigned polls_a_check = 8;

 private:
  static constexpr int gaps_in_limit = 8;

  std::chrono::duration<double> limit_;
  std::chrono::duration<double> waited_{0};
  Clock::time_point last_check_;
  unsigned long long idle_polls_ = 0;
};

}  // namespace cohom
