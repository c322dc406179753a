#pragma once
// Session: a group that has formed, from its first word to its end. The thread that keeps the
// control channel makes it and says when it is over; the caller's thread moves words.

#include "aggregation/client/data_path.hpp"

#include <cohom/error.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cohom::offload {

struct Session {
  Session(Admitted a, std::unique_ptr<DataPath> p) : admitted(std::move(a)), path(std::move(p)) {}

  const Admitted admitted;
  const std::unique_ptr<DataPath> path;

  /// Moves words while it lasts. What goes wrong ends it.
  void progress() {
    if (over()) return;
    try {
      path->progress();
    } catch (const Error& error) {
      end(error.what());
    }
  }

  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// From either thread; the first reason stays.
  void end(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (over()) return;
    reason_ = reason;
    over_.store(true, std::memory_order_release);
  }
  [[nodiscard]] std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace cohom::offload
