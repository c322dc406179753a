#pragma once
// WorkerPool: threads of the library that run codec work for callers' threads (workers). They wait
// for jobs and do nothing else: only a caller's thread knows messages, plans and calls.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace cohom {

/// What a worker runs, once at a time. Its owner, one thread at a time, keeps it until is_over().
class WorkerJob {
 public:
  WorkerJob() = default;
  virtual ~WorkerJob() = default;
  WorkerJob(const WorkerJob&) = delete;
  WorkerJob& operator=(const WorkerJob&) = delete;

  /// Whether a worker has run it. What it wrote is seen then.
  [[nodiscard]] bool is_over() const { return state_.load(std::memory_order_acquire) == over; }

 protected:
  /// In a worker.
  virtual void run() noexcept = 0;

 private:
  friend class WorkerPool;
  enum State : std::uint8_t { idle, waiting, running, over };

  std::atomic<State> state_ = idle;
  WorkerJob *before_ = nullptr, *behind_ = nullptr;  ///< in the line
};

/// Jobs may come from several owners, each in a thread of its own; they begin in their order.
class WorkerPool {
 public:
  /// More would lack work: workspaces are cut into too few pieces for them.
  static constexpr std::size_t max_workers = 255;

  /// The pool of this process with so many workers on these hardware threads, as the system
  /// numbers them (none: where the calling thread may run). All who ask for the same share one,
  /// which ends with the last of them. @throws std::system_error when the system has no threads
  static std::shared_ptr<WorkerPool> shared(std::size_t workers,
                                            std::span<const std::uint32_t> hardware_threads);

  WorkerPool(std::size_t workers, std::span<const std::uint32_t> hardware_threads);
  /// No job is left.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] std::size_t workers() const { return workers_; }
  /// False in a process that was forked off: its pool has no threads. Asks the system.
  [[nodiscard]] bool is_of_this_process() const;

  /// Puts a job at the end of the line. Takes no memory.
  void give(WorkerJob& job);
  /// Takes a job out of the line. False: a worker has begun it.
  [[nodiscard]] bool take_back(WorkerJob& job);
  /// Jobs that workers began so far.
  [[nodiscard]] std::uint64_t jobs_begun();

 private:
  void start(std::size_t workers);
  void end();
  void run(std::uint32_t number);
  WorkerJob* next();
  void unlink(WorkerJob& job);
  void wait_for_job();

  std::size_t workers_;
  std::vector<std::uint32_t> hardware_threads_;
  int process_;

  /// In a forked process they are no threads: nobody may join them, and the end of what they wait
  /// for would wait for them.
  struct Threads {
    std::vector<std::thread> all;
    std::condition_variable wake;
  };

  std::mutex mutex_;
  WorkerJob *first_ = nullptr, *last_ = nullptr;
  std::atomic<std::size_t> waiting_ = 0;  ///< jobs in the line
  std::size_t sleeping_ = 0;              ///< workers
  std::uint64_t begun_ = 0;               ///< jobs
  std::atomic<bool> ending_ = false;
  std::unique_ptr<Threads> threads_;
};

/// 1, 2, ... in a worker of a pool; 0 in every other thread.
[[nodiscard]] std::uint32_t worker_number();

/// Something that each worker has for itself, and so has the thread that owns their jobs.
template <class T>
class PerWorker {
 public:
  /// For jobs of a pool with so many workers.
  explicit PerWorker(std::size_t workers) : entries_(workers + 1) {}

  [[nodiscard]] T& mine() { return entries_[worker_number()].value; }
  /// That of the thread which owns the jobs.
  [[nodiscard]] T& owners() { return entries_[0].value; }
  [[nodiscard]] const T& owners() const { return entries_[0].value; }
  /// Calls visit(T&) for each. No job may be under way.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Entry& entry : entries_) visit(entry.value);
  }

 private:
  struct alignas(64) Entry {  // no two workers write to one cache line
    T value{};
  };

  std::vector<Entry> entries_;
};

}  // namespace cohom
