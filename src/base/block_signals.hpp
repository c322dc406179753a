#pragma once
// NoSignals: threads that the library starts leave signals to the program.

#include <pthread.h>

#include <csignal>

namespace cohom {

/// While it lives, threads that this one starts take no signals, from their first moment on.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace cohom
