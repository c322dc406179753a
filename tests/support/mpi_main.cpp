// main() of the tests that run under mpirun: all ranks run the same tests in the same order, rank 0
// prints, and a test fails when it fails on any rank.
//
// --threads asks for MPI_THREAD_MULTIPLE; without it MPI is as single-threaded as MPI_Init makes
// it.

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace {

/// On ranks that do not print otherwise: what failed, and where.
class FailurePrinter final : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  // Called with gtest's lock held: it must not be asked which test this is.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::printf("[rank %d] %s\n%s:%d: Failure\n%s\n", rank_, test_.c_str(),
                result.file_name() == nullptr ? "unknown file" : result.file_name(),
                result.line_number(), result.message());
    std::fflush(stdout);
  }

 private:
  int rank_;
  std::string test_;
};

/// Ends each test on all ranks together, so that a failure on one rank is everyone's and no rank is
/// already in the next test.
class ResultCombiner final : public testing::EmptyTestEventListener {
 public:
  explicit ResultCombiner(int rank) : rank_(rank) {}

  void OnTestEnd(const testing::TestInfo& test) override {
    int ranks_that_failed = test.result()->Failed() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &ranks_that_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (ranks_that_failed == 0) return;
    ++failed_tests_;
    if (rank_ == 0)
      std::printf("[  FAILED  ] %s.%s, on %d ranks\n", test.test_suite_name(), test.name(),
                  ranks_that_failed);
  }

  [[nodiscard]] int failed_tests() const { return failed_tests_; }

 private:
  int rank_;
  int failed_tests_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bool threads = std::any_of(
      argv, argv + argc, [](std::string_view argument) { return argument == "--threads"; });
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // An error that a test does not expect must be a failure of the test, not the end of the program.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

  testing::InitGoogleTest(&argc, argv);
  int seed = testing::UnitTest::GetInstance()->random_seed();
  seed = seed == 0 ? 1 : seed;
  MPI_Bcast(&seed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  testing::GTEST_FLAG(random_seed) = seed;

  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    const std::unique_ptr<testing::TestEventListener> printer(
        listeners.Release(listeners.default_result_printer()));
    listeners.Append(std::make_unique<FailurePrinter>(rank).release());
  }
  auto combiner = std::make_unique<ResultCombiner>(rank);
  const ResultCombiner& results = *combiner;
  listeners.Append(combiner.release());

  const int own = RUN_ALL_TESTS();
  const int failed = results.failed_tests();
  if (rank == 0 && failed != 0)
    std::printf("%d test%s failed on some rank\n", failed, failed == 1 ? "" : "s");
  MPI_Finalize();
  return own != 0 || failed != 0 ? 1 : 0;
}
