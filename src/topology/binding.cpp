#include "topology/binding.hpp"

#include "base/cpu_set.hpp"
#include "base/text.hpp"

#include <sched.h>
#include <sys/types.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace cohom {

namespace {

/// Adds what a thread may run on; 0: this one.
void add_threads_of(pid_t thread, ThreadSet& threads) {
  // The system refuses sets that are smaller than its own.
  constexpr std::size_t least = 1024, most = 1 << 20;
  for (std::size_t size = least; size <= most; size *= 2) {
    const CpuSet cpus = make_cpu_set(size);
    if (!cpus) return;
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    if (sched_getaffinity(thread, bytes, cpus.get()) == 0) {
      for (std::size_t cpu = 0; cpu < size; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, cpus.get())) threads.add(static_cast<std::uint32_t>(cpu));
      return;
    }
    if (errno != EINVAL) return;
  }
}

}  // namespace

ThreadSet own_threads() {
  ThreadSet threads;
  add_threads_of(0, threads);
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/self/task", error), end;
  for (; !error && task != end; task.increment(error))
    if (const auto id = parse_number<pid_t>(task->path().filename().string()))
      add_threads_of(*id, threads);
  return threads;
}

}  // namespace cohom
