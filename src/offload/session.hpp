#pragma once
// Session: a group that has formed, from its first packet to its end. The thread that keeps the control
// channel makes it and says when it is over; the caller's thread sends packets.

#include "offload/control_message.hpp"
#include "offload/packet_socket.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace cohom::offload {

struct Session {
  Session(const Admitted& a, PacketSocket s) : admitted(a), socket(std::move(s)) {}

  const Admitted admitted;
  PacketSocket socket;

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
