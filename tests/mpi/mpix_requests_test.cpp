// The C API: several requests at once.

#include "mpix_fixture.hpp"

#include <cohom/mpix.h>

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

namespace cohom::testing {
namespace {

constexpr int count = 5000;
constexpr std::size_t calls = 3;

/// Calls on two communicators, and a null request behind theirs.
class MpixRequests : public MpixTest {
 protected:
  ~MpixRequests() override {
    if (other_ != MPI_COMM_NULL) MPI_Comm_free(&other_);
  }

  /// `bad` is the number of a call with an operation that cannot be compressed.
  void start(int bad = -1) {
    MPI_Comm_dup(comm_, &other_);
    MPI_Comm_set_errhandler(other_, MPI_ERRORS_RETURN);
    const Info info{{"cohom_codec", "raw"}};
    for (std::size_t call = 0; call < calls; ++call) {
      vectors_[call].assign(count, static_cast<float>(call) + 1);
      ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, vectors_[call].data(), count, MPI_FLOAT,
                                           int(call) == bad ? MPI_MAX : MPI_SUM,
                                           call == 1 ? other_ : comm_, info, &requests_[call]),
                MPI_SUCCESS);
    }
    requests_[calls] = MPIX_COMPRESSED_REQUEST_NULL;
  }

  void expect_sums(int bad = -1) const {
    for (std::size_t call = 0; call < calls; ++call)
      if (int(call) != bad)
        EXPECT_EQ(vectors_[call], std::vector<float>(count, (static_cast<float>(call) + 1) *
                                                                static_cast<float>(ranks_)));
    for (const MPIX_Compressed_request& request : requests_)
      EXPECT_EQ(request, MPIX_COMPRESSED_REQUEST_NULL);
  }

  static constexpr int size = calls + 1;  ///< one is null
  MPI_Comm other_ = MPI_COMM_NULL;
  std::array<std::vector<float>, calls> vectors_;
  std::array<MPIX_Compressed_request, calls + 1> requests_{};
};

TEST_F(MpixRequests, AreAllWaitedFor) {
  start();
  ASSERT_EQ(MPIX_Compressed_waitall(size, requests_.data()), MPI_SUCCESS);
  expect_sums();
}

TEST_F(MpixRequests, AreAllTested) {
  start();
  for (int flag = 0; flag == 0;)
    ASSERT_EQ(MPIX_Compressed_testall(size, requests_.data(), &flag), MPI_SUCCESS);
  expect_sums();
}

TEST_F(MpixRequests, AreWaitedForOneByOne) {
  start();
  std::array<bool, calls> seen{};
  for (std::size_t call = 0; call < calls; ++call) {
    int index = -1;
    ASSERT_EQ(MPIX_Compressed_waitany(size, requests_.data(), &index), MPI_SUCCESS);
    ASSERT_TRUE(index >= 0 && index < int(calls)) << index;
    EXPECT_FALSE(seen[std::size_t(index)]);
    EXPECT_EQ(requests_[std::size_t(index)], MPIX_COMPRESSED_REQUEST_NULL);
    seen[std::size_t(index)] = true;
  }
  int index = 0;
  ASSERT_EQ(MPIX_Compressed_waitany(size, requests_.data(), &index), MPI_SUCCESS);
  EXPECT_EQ(index, MPI_UNDEFINED);
  expect_sums();
}

TEST_F(MpixRequests, AreTestedOneByOne) {
  start();
  for (std::size_t complete = 0; complete < calls;) {
    int index = -1, flag = -1;
    ASSERT_EQ(MPIX_Compressed_testany(size, requests_.data(), &index, &flag), MPI_SUCCESS);
    ASSERT_EQ(flag != 0, index != MPI_UNDEFINED);
    if (flag != 0) ++complete;
  }
  int index = 0, flag = 0;
  ASSERT_EQ(MPIX_Compressed_testany(size, requests_.data(), &index, &flag), MPI_SUCCESS);
  EXPECT_TRUE(flag == 1 && index == MPI_UNDEFINED);
  expect_sums();
}

TEST_F(MpixRequests, OneThatFailedKeepsNoOtherFromItsEnd) {
  start(1);
  expect_error(MPIX_Compressed_waitall(size, requests_.data()), {"MPI_MAX", "MPI_SUM"});
  expect_sums(1);
}

TEST_F(MpixRequests, MayBeNone) {
  int index = 0, flag = 0;
  EXPECT_EQ(MPIX_Compressed_waitall(0, nullptr), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_testall(0, nullptr, &flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(MPIX_Compressed_waitany(0, nullptr, &index), MPI_SUCCESS);
  EXPECT_EQ(index, MPI_UNDEFINED);
}

TEST_F(MpixRequests, ArgumentsThatAreWrong) {
  int flag = 0, index = 0;
  expect_error(MPIX_Compressed_waitall(-1, requests_.data()), {"count is -1", "negative"});
  expect_error(MPIX_Compressed_waitall(1, nullptr), {"requests is a null pointer"});
  expect_error(MPIX_Compressed_testall(1, nullptr, &flag), {"requests is a null pointer"});
  expect_error(MPIX_Compressed_testall(1, requests_.data(), nullptr), {"flag is a null pointer"});
  expect_error(MPIX_Compressed_waitany(1, requests_.data(), nullptr), {"index is a null pointer"});
  expect_error(MPIX_Compressed_testany(1, requests_.data(), nullptr, &flag), {"index is a null"});
  expect_error(MPIX_Compressed_testany(1, requests_.data(), &index, nullptr), {"flag is a null"});
}

}  // namespace
}  // namespace cohom::testing
