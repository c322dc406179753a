#pragma once
// PatientClock: a clock that stands still while nobody asks it. What arrives while a rank does
// something else is not late.

#include <algorithm>
#include <chrono>

namespace cohom::offload {

class PatientClock {
 public:
  using Time = std::chrono::nanoseconds;

  Time now() {
    const auto here = std::chrono::steady_clock::now();
    time_ += std::min<Time>(here - last_asked_, max_gap);
    last_asked_ = here;
    return time_;
  }

 private:
  /// A longer time between two questions does not count.
  static constexpr std::chrono::milliseconds max_gap{1};

  std::chrono::steady_clock::time_point last_asked_ = std::chrono::steady_clock::now();
  Time time_{};
};

}  // namespace cohom::offload
