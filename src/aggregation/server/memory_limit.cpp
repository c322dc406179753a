#include "aggregation/server/memory_limit.hpp"

#include "aggregation/net/endpoint.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string_view>

namespace cohom::offload {

namespace {

constexpr std::chrono::milliseconds poll_interval{500};
constexpr int polls_when_full = 5;
constexpr int status_without_memory = 3;

/// What the system counts for RLIMIT_DATA: private memory that can be written to, here with the
/// main thread's stack. Zero: it does not say.
std::uint64_t data_bytes() {
  // Without a buffer that is allocated: there may be no memory. This file is a line of seven
  // numbers, while /proc/self/status has any length (of a user with many groups).
  const FileDescriptor statm(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  if (!statm.is_open() || ::read(statm.get(), text.data(), text.size() - 1) <= 0) return 0;
  unsigned long pages = 0;
  if (std::sscanf(text.data(), "%*u %*u %*u %*u %*u %lu", &pages) != 1) return 0;
  return std::uint64_t{pages} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uint64_t limit_memory(std::uint64_t more) {
  rlimit limit{};
  const std::uint64_t taken = data_bytes();
  if (taken == 0) throw_system_error("/proc/self/statm");
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) throw_system_error("getrlimit");
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, taken + more);
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) throw_system_error("setrlimit");
  return limit.rlim_cur;
}

MemoryWatch::MemoryWatch(std::uint64_t limit, std::uint64_t more)
    : thread_([nearly_all = limit - std::min(limit, more / 16)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        for (int full = 0; full < polls_when_full && !stop.stop_requested();) {
          std::unique_lock lock(mutex);
          stopped.wait_for(lock, stop, poll_interval, [] { return false; });
          full = data_bytes() > nearly_all ? full + 1 : 0;
        }
        if (stop.stop_requested()) return;
        // Nothing that takes memory.
        constexpr std::string_view text =
            "cohom-aggregator: all memory is taken and stays so; the process that serves ends\n";
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        ::_exit(status_without_memory);
      }) {}

}  // namespace cohom::offload
