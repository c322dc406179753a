#pragma once
// PatientClock: a clock that stands still while nobody polls it. What arrives while a rank does
// something else is not late.

#include <algorithm>
#include <chrono>

namespace cohom::offload {

class PatientClock {
 public:
  using Time = std::chrono::nanoseconds;

  Time poll() {
    const auto now = std::chrono::steady_clock::now();
    time_ += std::min<Time>(now - last_poll_, max_poll_gap);
    last_poll_ = now;
    return time_;
  }

 private:
  /// A longer time between two polls does not count.
  static constexpr std::chrono::milliseconds max_poll_gap{1};

  std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
  Time time_{};
};

}  // namespace cohom::offload
