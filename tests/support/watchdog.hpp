#pragma once
// Watchdog: turns a deadlock into a failure with a name.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace cohom::test {

/// Aborts the program when it still exists after a minute (longer where a sanitizer slows it down).
class Watchdog {
 public:
  explicit Watchdog(std::string what) : what_(std::move(what)), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr std::chrono::seconds limit{600};
#else
  static constexpr std::chrono::seconds limit{60};
#endif

  void watch() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit, [this] { return over_; })) return;
    std::fprintf(stderr, "no end after %lld s, a deadlock: %s\n",
                 static_cast<long long>(limit.count()), what_.c_str());
    std::abort();
  }

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace cohom::test
