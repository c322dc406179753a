#pragma once
// PatientClock: a clock that stands still while nobody looks at it. What arrives while a rank does
// something else is not late.

#include <algorithm>
#include <chrono>

namespace cohom::offload {

class PatientClock {
 public:
  using Time = std::chrono::nanoseconds;

  Time look() {
    const auto now = std::chrono::steady_clock::now();
    time_ += std::min<Time>(now - last_look_, longest_look);
    last_look_ = now;
    return time_;
  }

 private:
  /// A longer time between two looks does not count.
  static constexpr std::chrono::milliseconds longest_look{1};

  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
  Time time_{};
};

}  // namespace cohom::offload
