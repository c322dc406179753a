// A rank that does not come to a call, over MPI and over UCX: the others give up after
// cohom_timeout and say whom they wait for; the process can still make calls elsewhere, and ends as
// usual.

#include "mpix_fixture.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

class Timeout : public MpixTest {
 protected:
  /// All ranks but the last call; the last comes when they have given up.
  template <class Call>
  void expect_timeout(Call&& call) {
    if (ranks_ == 1) GTEST_SKIP() << "one rank waits for nobody";
    expect_good_call(comm_);
    if (last_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const auto start = std::chrono::steady_clock::now();
    const int code = call();
    const auto took = std::chrono::steady_clock::now() - start;
    ASSERT_NE(code, MPI_SUCCESS);
    const std::string text = text_of(code);
    EXPECT_NE(text.find("no progress for 0.3 s, the timeout: waits for rank"), std::string::npos)
        << text;
    if (!last_rank()) EXPECT_LT(took, std::chrono::milliseconds(1400));
    // What is under way on this communicator could be taken for a later call's.
    float one = 1;
    const int later =
        MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, comm_, Info());
    EXPECT_NE(later, MPI_SUCCESS);
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    expect_good_call(fresh);
    MPI_Comm_free(&fresh);
  }

  std::vector<float> data_ = std::vector<float>(20000, 1.0f);
  Info info_{{"cohom_codec", "thc"}, {"cohom_timeout", "0.3"}};
};

TEST_F(Timeout, OfABlockingCall) {
  expect_timeout([&] {
    return MPIX_Allreduce_compressed(MPI_IN_PLACE, data_.data(), 20000, MPI_FLOAT, MPI_SUM, comm_,
                                     info_);
  });
}

TEST_F(Timeout, OfARequest) {
  expect_timeout([&] {
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    int code = MPIX_Iallreduce_compressed(MPI_IN_PLACE, data_.data(), 20000, MPI_FLOAT, MPI_SUM,
                                          comm_, info_, &request);
    for (int done = 0; code == MPI_SUCCESS && done == 0;)
      code = MPIX_Compressed_test(&request, &done);
    return code;
  });
}

}  // namespace
}  // namespace cohom::testing
