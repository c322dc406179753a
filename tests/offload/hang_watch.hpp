#pragma once
// HangWatch: ends a rank whose calls have stopped finishing, and says what it waits for.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace cohom::test {

class HangWatch {
 public:
  static constexpr int exit_status = 3;

  HangWatch(std::chrono::milliseconds limit, int rank) : limit_(limit), rank_(rank) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

  /// The rank has finished something, and now does this.
  void now(std::string what) {
    const std::lock_guard lock(mutex_);
    if (waited_ >= slow) say("SLOW");
    what_ = std::move(what);
    waited_ = {};
  }

 private:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds interval{100};
  static constexpr Milliseconds slow{5000};
  /// The other ranks hang as well, and shall say so before the launcher ends them.
  static constexpr std::chrono::seconds grace{5};

  void say(const char* word) const {
    std::fprintf(stderr, "%s: rank %d, %lld s, for: %s\n", word, rank_,
                 static_cast<long long>(waited_.count() / 1000), what_.c_str());
  }

  /// Counts looks, not the clock: a process that was stopped is not one that hangs.
  void watch(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(interval);
      const std::lock_guard lock(mutex_);
      waited_ += interval;
      if (waited_ < limit_) continue;
      say("HANG");
      std::this_thread::sleep_for(grace);
      std::_Exit(exit_status);
    }
  }

  Milliseconds limit_;
  int rank_;
  std::mutex mutex_;
  std::string what_ = "the start";
  Milliseconds waited_{};
  std::jthread thread_;  // last: it uses the others
};

}  // namespace cohom::test
