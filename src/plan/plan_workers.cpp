#include "plan/plan_workers.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <system_error>

namespace cohom {

namespace {

/// More than memory has bandwidth for, and a vector pieces.
constexpr std::size_t most_by_auto = 15;

/// Of vectors with fewer that workers would take there is little to share.
constexpr std::size_t min_slices = 4;

}  // namespace

WorkerChoice choose_workers(std::optional<std::size_t> threads, std::span<const UsableCore> cores) {
  WorkerChoice choice;
  const auto own_cores = static_cast<std::size_t>(std::ranges::count_if(cores, &UsableCore::alone));
  // More workers than fit beside the caller go to all cores that the rank may use: the caller may
  // be bound to one.
  const bool all = threads.value_or(0) >= std::max<std::size_t>(own_cores, 1);
  for (const UsableCore& core : cores)
    if (core.alone || all)
      choice.hardware_threads.insert(choice.hardware_threads.end(), core.threads.begin(),
                                     core.threads.end());
  std::ranges::sort(choice.hardware_threads);
  if (threads) {
    choice.workers = *threads;
    choice.reason = "as asked for";
  } else if (cores.empty()) {
    choice.reason = "nobody knows which cores this rank has";
  } else if (own_cores < 2) {
    choice.reason =
        own_cores == 0 ? "no core is this rank's alone" : "one core is this rank's alone";
  } else {
    choice.workers = std::min(own_cores - 1, most_by_auto);
    choice.reason = std::to_string(own_cores) + " cores are this rank's alone";
  }
  return choice;
}

std::shared_ptr<WorkerPool> workers_for(const PlanCodec& codec, std::size_t bytes,
                                        std::optional<std::size_t> threads,
                                        const PlanEnvironment& environment) {
  if (bytes < min_slices * environment.tuning.min_given_bytes) return nullptr;
  const int rank = environment.transport->rank();
  if (const std::string why_not = codec.why_not_in_workers(); !why_not.empty()) {
    if (threads.value_or(0) != 0) log_once_for_all(rank, "threads: " + why_not);
    return nullptr;
  }
  const WorkerChoice choice = choose_workers(threads, environment.cores);
  const std::string text = "threads: " + counted(choice.workers, "worker") +
                           " besides the calling thread, " + choice.reason;
  if (choice.workers == 0) {
    log_once_for_all(rank, text);
    return nullptr;
  }
  try {
    auto pool = WorkerPool::shared(choice.workers, choice.hardware_threads);
    log_once_for_all(rank, text);
    return pool;
  } catch (const std::system_error& error) {
    const std::string why = std::string("the system starts none (") + error.what() + ")";
    if (threads)
      throw Error(ErrorKind::unsupported,
                  "threads=" + std::to_string(*threads) + ": " + why + "; take fewer, or auto");
    warn_once(text + ": " + why + "; the calling thread does all work");
    return nullptr;
  }
}

}  // namespace cohom
