#pragma once
// StopOnSignal: a server's clean end.

#include "aggregation/server/control_server.hpp"

#include <array>
#include <atomic>
#include <csignal>

namespace cohom::offload {

/// Ends the server when a signal says so.
class StopOnSignal {
 public:
  explicit StopOnSignal(ControlServer& server) {
    server_ = &server;
    struct sigaction action {};
    action.sa_handler = [](int) { server_.load()->stop(); };
    for (const int number : numbers) sigaction(number, &action, nullptr);
    mask(SIG_UNBLOCK);
  }
  ~StopOnSignal() { mask(SIG_BLOCK); }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  /// Signals wait: what has been put on ports is to be taken away.
  static void mask(int how) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : numbers) sigaddset(&signals, number);
    pthread_sigmask(how, &signals, nullptr);
  }

 private:
  static constexpr std::array numbers{SIGTERM, SIGINT, SIGHUP};
  inline static std::atomic<ControlServer*> server_ = nullptr;
};

}  // namespace cohom::offload
