#include "base/worker_pool.hpp"

#include "base/block_signals.hpp"
#include "base/cpu_set.hpp"
#include "base/float_mode.hpp"
#include "base/log.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

namespace cohom {

namespace {

thread_local std::uint32_t own_number = 0;

/// A caller that is bound to one core would else have all workers there.
void run_on(std::span<const std::uint32_t> hardware_threads) {
  if (hardware_threads.empty()) return;
  const std::size_t size = *std::ranges::max_element(hardware_threads) + std::size_t{1};
  const CpuSet cpus = make_cpu_set(size);
  if (!cpus) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(size);
  for (const std::uint32_t thread : hardware_threads) CPU_SET_S(thread, bytes, cpus.get());
  if (const int error = pthread_setaffinity_np(pthread_self(), bytes, cpus.get()); error != 0)
    warn_once(std::string("threads: the system does not let workers run on this rank's cores (") +
              std::strerror(error) + "); they run wherever the thread may that started them");
}

}  // namespace

std::uint32_t worker_number() { return own_number; }

std::shared_ptr<WorkerPool> WorkerPool::shared(std::size_t workers,
                                               std::span<const std::uint32_t> hardware_threads) {
  using Key = std::tuple<int, std::size_t, std::vector<std::uint32_t>>;
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<WorkerPool>> pools;
  const std::lock_guard lock(mutex);
  std::erase_if(pools, [](const auto& entry) { return entry.second.expired(); });
  auto& known = pools[{::getpid(), workers, {hardware_threads.begin(), hardware_threads.end()}}];
  auto pool = known.lock();
  if (!pool) known = pool = std::make_shared<WorkerPool>(workers, hardware_threads);
  return pool;
}

WorkerPool::WorkerPool(std::size_t workers, std::span<const std::uint32_t> hardware_threads)
    : workers_(workers),
      hardware_threads_(hardware_threads.begin(), hardware_threads.end()),
      process_(::getpid()),
      threads_(std::make_unique<Threads>()) {
  try {
    start(workers);
  } catch (...) {
    end();
    throw;
  }
}

WorkerPool::~WorkerPool() {
  if (is_of_this_process())
    end();
  else
    static_cast<void>(threads_.release());
}

bool WorkerPool::is_of_this_process() const { return process_ == ::getpid(); }

void WorkerPool::start(std::size_t workers) {
  const NoSignals no_signals;
  threads_->all.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i)
    threads_->all.emplace_back([this, number = static_cast<std::uint32_t>(i + 1)] { run(number); });
}

void WorkerPool::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  threads_->wake.notify_all();
  for (std::thread& thread : threads_->all) thread.join();
}

void WorkerPool::give(WorkerJob& job) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    job.state_.store(WorkerJob::waiting, std::memory_order_relaxed);
    job.before_ = last_;
    job.behind_ = nullptr;
    (last_ != nullptr ? last_->behind_ : first_) = &job;
    last_ = &job;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    wakes = sleeping_ != 0;
  }
  if (wakes) threads_->wake.notify_one();
}

bool WorkerPool::take_back(WorkerJob& job) {
  const std::lock_guard lock(mutex_);
  if (job.state_.load(std::memory_order_relaxed) != WorkerJob::waiting) return false;
  unlink(job);
  job.state_.store(WorkerJob::idle, std::memory_order_relaxed);
  return true;
}

std::uint64_t WorkerPool::jobs_begun() {
  const std::lock_guard lock(mutex_);
  return begun_;
}

void WorkerPool::unlink(WorkerJob& job) {
  (job.before_ != nullptr ? job.before_->behind_ : first_) = job.behind_;
  (job.behind_ != nullptr ? job.behind_->before_ : last_) = job.before_;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

/// The job at the head of the line, which the worker has then begun; null when workers end.
WorkerJob* WorkerPool::next() {
  std::unique_lock lock(mutex_);
  while (first_ == nullptr) {
    if (ending_) return nullptr;
    lock.unlock();
    wait_for_job();
    lock.lock();
    if (first_ != nullptr || ending_) continue;
    ++sleeping_;
    threads_->wake.wait(lock, [this] { return first_ != nullptr || ending_; });
    --sleeping_;
  }
  WorkerJob& job = *first_;
  unlink(job);
  ++begun_;
  job.state_.store(WorkerJob::running, std::memory_order_relaxed);
  return &job;
}

/// For about as long as a slice of codec work takes: to fall asleep and wake up takes longer than
/// the owner needs for the next job. Not longer: others may want the core.
void WorkerPool::wait_for_job() {
  constexpr std::chrono::microseconds patience{50};
  const auto begin = std::chrono::steady_clock::now();
  while (waiting_.load(std::memory_order_relaxed) == 0 && !ending_ &&
         std::chrono::steady_clock::now() - begin < patience)
    std::this_thread::yield();
}

void WorkerPool::run(std::uint32_t number) {
  own_number = number;
  pthread_setname_np(pthread_self(), "cohom-worker");
  run_on(hardware_threads_);
  const DefaultFloatMode mode;
  while (WorkerJob* const job = next()) {
    job->run();
    // From here on it is its owner's again.
    job->state_.store(WorkerJob::over, std::memory_order_release);
  }
}

}  // namespace cohom
