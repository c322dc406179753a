// MPI fails to duplicate a communicator on one rank: all ranks get the same error, and none waits.

#include "mpix_fixture.hpp"

#include <gtest/gtest.h>

#include <cohom/mpix.h>

#include <mpi.h>

#include <string>
#include <vector>

namespace {

bool dup_fails = false, idup_fails = false;  // on this rank

}  // namespace

// The program's functions are found before MPI's, which have a second name for this.
extern "C" {

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* duplicate) {
  const int code = PMPI_Comm_dup_with_info(comm, info, duplicate);  // the others want it
  return dup_fails ? MPI_ERR_NO_MEM : code;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* duplicate, MPI_Request* request) {
  return idup_fails ? MPI_ERR_NO_MEM : PMPI_Comm_idup(comm, duplicate, request);
}

}  // extern "C"

namespace cohom::testing {
namespace {

class FailingDup : public MpixTest {
 protected:
  ~FailingDup() override { dup_fails = idup_fails = false; }

  int call(const char* algorithm) {
    values_.assign(1000, 1.0f);
    return MPIX_Allreduce_compressed(
        MPI_IN_PLACE, values_.data(), 1000, MPI_FLOAT, MPI_SUM, comm_,
        Info{{"cohom_codec", "raw"}, {"cohom_algorithm", algorithm}, {"cohom_timeout", "20"}});
  }
  void expect_refusal(const char* algorithm, const char* function) {
    const std::string teller = ranks_ > 1 ? "rank " + std::to_string(ranks_ - 1) + ": " : "";
    expect_error_on_all_ranks(call(algorithm), comm_, {teller, function});
  }
  void expect_sums(const char* algorithm) {
    ASSERT_EQ(call(algorithm), MPI_SUCCESS);
    for (const float value : values_) ASSERT_EQ(value, float(ranks_));
  }

  std::vector<float> values_;
};

TEST_F(FailingDup, OfATransportFailsOnAllRanks) {
  dup_fails = last_rank();
  expect_refusal("ring", "MPI_Comm_dup_with_info");
  dup_fails = false;
  expect_sums("ring");
}

TEST_F(FailingDup, OfFabricFailsOnAllRanksInAllCalls) {
  expect_sums("ring");
  idup_fails = last_rank();
  expect_refusal("fabric", "MPI made no communicators for fabric: MPI_Comm_idup");
  idup_fails = false;
  expect_refusal("fabric", "MPI made no communicators for fabric: MPI_Comm_idup");
  expect_sums("ring");
}

}  // namespace
}  // namespace cohom::testing
