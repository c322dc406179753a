// The pool of workers, and who gives them slices: order, errors, early ends, forks.

#include "base/worker_pool.hpp"
#include "executor/slice_crew.hpp"
#include "watchdog.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

class Job final : public WorkerJob {
 public:
  explicit Job(std::function<void()> body) : body_(std::move(body)) {}
  void wait() const {
    while (!is_over()) std::this_thread::yield();
  }

 private:
  void run() noexcept override { body_(); }

  std::function<void()> body_;
};

TEST(WorkerPool, RunsJobsInTheirOrder) {
  const Watchdog watchdog("order");
  WorkerPool pool(1, {});
  std::vector<int> order;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 100; ++i)
    jobs.push_back(std::make_unique<Job>([&order, i] { order.push_back(i); }));
  for (int again = 0; again < 2; ++again) {
    order.clear();
    for (auto& job : jobs) pool.give(*job);
    for (auto& job : jobs) job->wait();
    ASSERT_EQ(order.size(), jobs.size());
    EXPECT_TRUE(std::ranges::is_sorted(order));
  }
  EXPECT_EQ(pool.jobs_begun(), 200u);
}

TEST(WorkerPool, WorkersHaveNumbersAndNoSignals) {
  const Watchdog watchdog("numbers");
  constexpr std::uint32_t workers = 5;
  WorkerPool pool(workers, {});
  EXPECT_EQ(worker_number(), 0u);
  std::atomic<std::uint32_t> there = 0;
  std::atomic<bool> all_blocked = true, all_to_nearest = true;
  PerWorker<int> seen(workers);
  std::vector<std::unique_ptr<Job>> jobs;
  std::fesetround(FE_UPWARD);  // as a program may
  WorkerPool second(1, {});
  for (std::uint32_t i = 0; i < workers; ++i)
    jobs.push_back(std::make_unique<Job>([&] {
      ++seen.mine();
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      if (sigismember(&blocked, SIGALRM) != 1) all_blocked = false;
      ++there;
      while (there < workers) std::this_thread::yield();  // each job has a worker of its own
    }));
  for (auto& job : jobs) pool.give(*job);
  for (auto& job : jobs) job->wait();
  Job rounds([&] {
    const volatile float one = 1, little = 0x1p-30F;
    all_to_nearest = one + little == one;
  });
  second.give(rounds);
  rounds.wait();
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(all_blocked);
  EXPECT_TRUE(all_to_nearest);
  int number = 0;
  seen.for_each([&](int count) { EXPECT_EQ(count, number++ == 0 ? 0 : 1); });
}

TEST(WorkerPool, AJobThatNobodyBeganComesBack) {
  const Watchdog watchdog("take back");
  WorkerPool pool(1, {});
  std::atomic<bool> go = false, ran = false;
  Job holds([&] {
    while (!go) std::this_thread::yield();
  });
  Job first([&] { ran = true; }), second([] {});
  pool.give(holds);
  while (pool.jobs_begun() == 0) std::this_thread::yield();
  pool.give(first);
  pool.give(second);
  EXPECT_TRUE(pool.take_back(first));
  EXPECT_FALSE(pool.take_back(first));
  EXPECT_FALSE(pool.take_back(holds)) << "it runs";
  go = true;
  second.wait();
  EXPECT_FALSE(ran);
}

TEST(WorkerPool, IsSharedByThoseWhoAskForTheSame) {
  auto one = WorkerPool::shared(2, {});
  EXPECT_EQ(WorkerPool::shared(2, {}), one);
  EXPECT_NE(WorkerPool::shared(3, {}), one);
  const std::weak_ptr<WorkerPool> gone = one;
  one.reset();
  EXPECT_TRUE(gone.expired()) << "the last one ends it";
}

TEST(WorkerPool, AForkedProcessHasNone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of programs with threads";
#endif
  const Watchdog watchdog("fork");
  auto pool = std::make_unique<WorkerPool>(2, std::span<const std::uint32_t>{});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // workers sleep then
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool none = !pool->is_of_this_process();
    SliceCrew crew(pool.get());
    crew.begin(nullptr);
    const bool unused = !crew.has_workers();
    pool.reset();  // joins nobody
    _exit(none && unused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// Slices whose number is the unit of their task.
class Owner final : public SliceOwner {
 public:
  void run(Slice& slice) override {
    while (hold && slice.task.unit >= 100) std::this_thread::yield();
    if (slice.task.unit == 7) throw std::runtime_error("seven");
    slice.words = 2 * slice.task.unit;
    ++ran;
  }
  void take(const Slice& slice) override {
    EXPECT_EQ(worker_number(), 0u);
    EXPECT_EQ(slice.words, 2 * slice.task.unit);
    ++taken;
  }

  std::atomic<bool> hold = false;
  std::atomic<int> ran = 0;
  int taken = 0;
};

Slice slice_of(std::uint32_t number) { return {.task = {0, number}}; }

TEST(SliceCrew, TakesInAllThatItGaveAway) {
  const Watchdog watchdog("crew");
  WorkerPool pool(3, {});
  SliceCrew crew(&pool);
  crew.begin(nullptr);
  Owner owner;
  int given = 0;
  for (std::uint32_t i = 10; i < 60; ++i) {
    while (!crew.takes_one()) crew.collect();
    crew.give(owner, slice_of(i));
    ++given;
  }
  while (crew.collect() || crew.help()) continue;
  EXPECT_EQ(owner.taken, given);
  EXPECT_EQ(owner.ran, given);
}

TEST(SliceCrew, AnErrorComesOutInTheOwnersThread) {
  const Watchdog watchdog("error");
  WorkerPool pool(1, {});
  SliceCrew crew(&pool);
  crew.begin(nullptr);
  Owner owner;
  crew.give(owner, slice_of(7));
  std::string what;
  try {
    for (int i = 0; i < 1'000'000'000 && (crew.collect() || crew.help()); ++i) continue;
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  EXPECT_EQ(what, "seven");
  crew.stop();
  crew.begin(nullptr);
  crew.give(owner, slice_of(8));  // the error is forgotten
  while (crew.collect() || crew.help()) continue;
  EXPECT_EQ(owner.taken, 1);
}

TEST(SliceCrew, StopsWhenNothingRunsAnyMore) {
  const Watchdog watchdog("stop");
  WorkerPool pool(1, {});
  SliceCrew crew(&pool);
  crew.begin(nullptr);
  auto owner = std::make_unique<Owner>();
  owner->hold = true;
  crew.give(*owner, slice_of(100));
  while (pool.jobs_begun() == 0) std::this_thread::yield();
  crew.give(*owner, slice_of(101));
  ASSERT_FALSE(crew.takes_one()) << "two a worker";
  std::thread lets_go([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    owner->hold = false;
  });
  crew.stop();
  EXPECT_EQ(owner->ran, 1) << "what nobody had begun is forgotten, and the other one is over";
  lets_go.join();
  owner.reset();  // nobody runs in it any more
  EXPECT_FALSE(crew.help());
}

}  // namespace
}  // namespace cohom::test
