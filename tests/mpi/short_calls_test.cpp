// Short calls again and again: once what they need is there, they allocate nothing.

#include "failing_memory.hpp"
#include "mpix_fixture.hpp"

#include <cstddef>
#include <vector>

namespace cohom::testing {
namespace {

class ShortCalls : public MpixTest {
 protected:
  /// A rank that comes late may meet more messages at once than ever before, and take memory for
  /// them. That is no allocation a call.
  static constexpr long max_allocations = 60;

  /// Of 600 calls, once as many were made before: no channel is new.
  template <class Call>
  static long allocations_of(Call&& call) {
    constexpr int calls = 600;
    for (int i = 0; i < calls; ++i) call();
    constexpr long allowed = 1 << 20;
    test::allocations_left = allowed;
    for (int i = 0; i < calls; ++i) call();
    const long left = test::allocations_left;
    test::allocations_left = -1;
    return allowed - left;
  }
};

TEST_F(ShortCalls, AllocateNothing) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank sends nothing";
  for (const int count : {1, 300, 4096}) {
    std::vector<float> input(std::size_t(count), 1.0f), output(std::size_t(count), 0.0f);
    const auto call = [&] {
      ASSERT_EQ(MPIX_Allreduce_compressed(input.data(), output.data(), count, MPI_FLOAT, MPI_SUM,
                                          comm_, MPI_INFO_NULL),
                MPI_SUCCESS);
    };
    EXPECT_LT(allocations_of(call), max_allocations) << count << " elements";
    EXPECT_EQ(output, std::vector<float>(std::size_t(count), float(ranks_)));
  }
}

TEST_F(ShortCalls, OfAPlanAllocateNothing) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank sends nothing";
  for (const int count : {1, 4096}) {
    std::vector<double> input(std::size_t(count), 1.0), output(std::size_t(count), 0.0);
    MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
    ASSERT_EQ(MPIX_Compressed_plan_create(count / 2, MPI_DOUBLE, MPI_SUM, comm_,
                                          Info{{"cohom_codec", "raw"}}, &plan),
              MPI_SUCCESS);
    const auto call = [&] {
      ASSERT_EQ(MPIX_Compressed_plan_execute(plan, input.data(), output.data()), MPI_SUCCESS);
    };
    EXPECT_LT(allocations_of(call), max_allocations) << count << " elements";
    EXPECT_EQ(MPIX_Compressed_plan_free(&plan), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace cohom::testing
