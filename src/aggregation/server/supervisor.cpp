#include "aggregation/server/supervisor.hpp"

#include "aggregation/net/endpoint.hpp"
#include "base/log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace cohom::offload {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto quick = 10s;  ///< a child that lives shorter dies quickly
constexpr auto after_failed_start = 1s;

sigset_t awaited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&signals, number);
  return signals;
}

std::string end_of(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + " (" +
                                   ::strsignal(WTERMSIG(status)) + ")"
                             : "exit status " + std::to_string(WEXITSTATUS(status));
}

timespec timespec_of(std::chrono::nanoseconds time) {
  return {.tv_sec = time / 1s, .tv_nsec = (time % 1s).count()};
}

}  // namespace

std::chrono::milliseconds pause_after(std::uint32_t quick_deaths) {
  constexpr std::uint32_t at_once = 3, longest = 6;  // 64 s
  if (quick_deaths <= at_once) return 100ms;
  return 1s * (1 << std::min(quick_deaths - at_once - 1, longest));
}

std::optional<int> Supervisor::run() {
  // They wait until somebody looks: here, or in the child its own handlers.
  const sigset_t signals = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Who started it may ignore this one, and then no child could be waited for.
  ::signal(SIGCHLD, SIG_DFL);
  for (;; ++restarts_) {
    const auto begin = Clock::now();
    if (!start()) return 0;
    if (child_ == 0) return std::nullopt;
    const int status = wait_for_child();
    const bool wrong_from_the_start = restarts_ == 0 && !has_served();
    if (WIFEXITED(status) && (stopping_ || WEXITSTATUS(status) == 0 || wrong_from_the_start))
      return WEXITSTATUS(status);
    if (stopping_) return WTERMSIG(status) == SIGKILL ? 1 : 0;
    const auto lived = Clock::now() - begin;
    quick_deaths_ = lived < quick ? quick_deaths_ + 1 : 0;
    const auto time = pause_after(quick_deaths_);
    log().error(
        "the process that serves has ended after {:.1f} s: {}; another one starts in {:.1f} s",
        std::chrono::duration<double>(lived).count(), end_of(status),
        std::chrono::duration<double>(time).count());
    if (!pause(time)) return 0;
  }
}

/// Goes on until there is a child, or this is it. False: it is to end before.
bool Supervisor::start() {
  for (;;) try {
      make_child();
      return true;
    } catch (const Error& error) {
      // There was a child before, so that the system lacks something only for a time.
      if (restarts_ == 0) throw;
      log().error("no other process that serves can be started: {}; the next try is in {:.1f} s",
                  error.what(), std::chrono::duration<double>(after_failed_start).count());
      if (!pause(after_failed_start)) return false;
    }
}

void Supervisor::make_child() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw_system_error("pipe");
  served_ = FileDescriptor(ends[0]);
  tell_served_ = FileDescriptor(ends[1]);
  std::fflush(nullptr);  // else both write what one has printed
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) throw_system_error("fork");
  if (child_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before
  sigset_t of_parent;
  ::sigemptyset(&of_parent);
  ::sigaddset(&of_parent, SIGCHLD);
  ::pthread_sigmask(SIG_UNBLOCK, &of_parent, nullptr);
}

int Supervisor::wait_for_child() {
  const sigset_t signals = awaited_signals();
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == child_) break;
    if (ended < 0 && errno == ECHILD) {  // somebody else has taken its status
      status = W_EXITCODE(EXIT_FAILURE, 0);
      break;
    }
    // A second at most, should a signal be lost to somebody who traces.
    const timespec second = timespec_of(1s);
    pass_on(::sigtimedwait(&signals, nullptr, &second));
  }
  child_ = -1;
  return status;
}

void Supervisor::pass_on(int signal) {
  if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP) return;
  stopping_ = true;
  ::kill(child_, signal);
}

bool Supervisor::has_served() const {
  char byte = 0;
  return ::read(served_.get(), &byte, 1) == 1;
}

void Supervisor::serving() const {
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(tell_served_.get(), &byte, 1);
}

/// Whether it is to go on.
bool Supervisor::pause(std::chrono::milliseconds time) {
  sigset_t signals = awaited_signals();
  ::sigdelset(&signals, SIGCHLD);
  const timespec left = timespec_of(time);
  return ::sigtimedwait(&signals, nullptr, &left) < 0;
}

}  // namespace cohom::offload
