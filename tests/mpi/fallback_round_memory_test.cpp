// A rank that has no memory for a fallback round finds out in the middle of a call. All ranks must
// hear of it, no message may be left behind, and the next call must work.

#include "mpix_fixture.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <limits>
#include <vector>

namespace cohom::testing {
namespace {

/// While it lives, this process may map only a few MiB more.
class ShortOfMemory {
 public:
  explicit ShortOfMemory(std::size_t bytes_left) {
    getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * std::size_t(sysconf(_SC_PAGESIZE)) + bytes_left;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~ShortOfMemory() { setrlimit(RLIMIT_AS, &before_); }
  ShortOfMemory(const ShortOfMemory&) = delete;
  ShortOfMemory& operator=(const ShortOfMemory&) = delete;

 private:
  rlimit before_{};
};

using FallbackRoundMemory = MpixTest;

TEST_F(FallbackRoundMemory, MissingOnOneRankIsAnErrorOnAll) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank has nothing to receive into";
  constexpr std::size_t count = 4 << 20;
  const std::vector<float> not_finite(count, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> data(count, 1.0f), expected(count);
  const Info info{{"cohom_codec", "thc"}, {"cohom_algorithm", "direct"}};
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  ASSERT_EQ(MPIX_Compressed_plan_create(count, MPI_FLOAT, MPI_SUM, comm_, info, &plan),
            MPI_SUCCESS);
  // A call that meets no limit first: MPI takes memory of its own at the first use of a connection.
  ASSERT_EQ(MPIX_Compressed_plan_execute(plan, data.data(), expected.data()), MPI_SUCCESS);
  int code = MPI_SUCCESS;
  {
    const ShortOfMemory limit(last_rank() ? 4 << 20 : std::size_t{1} << 40);
    std::vector<float>& sum = expected;
    code = MPIX_Compressed_plan_execute(plan, not_finite.data(), sum.data());
  }
  expect_error_on_all_ranks(
      code, comm_,
      {"rank " + std::to_string(ranks_ - 1) + ": out of memory", "fallback rounds of codec thc"});
  // With memory the same call works: NaN everywhere.
  ASSERT_EQ(MPIX_Compressed_plan_execute(plan, not_finite.data(), data.data()), MPI_SUCCESS);
  EXPECT_NE(data[0], data[0]);
  EXPECT_NE(data[count - 1], data[count - 1]);
  MPIX_Compressed_plan_free(&plan);
  expect_good_call(comm_);
}

}  // namespace
}  // namespace cohom::testing
