// The address of an aggregator as a key of an MPI_Info: what is wrong with it is an error on all
// ranks, and an aggregator that is not there only changes the algorithm.

#include "mpix_fixture.hpp"

#include <cohom/mpi.hpp>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

constexpr int count = 40000;
constexpr const char* token_variable = "COHOM_AGGREGATOR_TOKEN";

/// Nobody listens at this port: connections are refused at once.
constexpr const char* nobody = "127.0.0.1:9";

class MpixAggregator : public MpixTest {
 protected:
  MpixAggregator() { ::setenv(token_variable, "a secret of this test", 1); }
  ~MpixAggregator() override { ::unsetenv(token_variable); }

  int reduce(MPI_Info info, std::vector<float>& data) const {
    for (int i = 0; i < count; ++i) data[std::size_t(i)] = float(i % 100) + float(rank_);
    return MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, comm_,
                                     info);
  }

  std::vector<float> data_ = std::vector<float>(count);
};

TEST_F(MpixAggregator, ThatIsNotThereLeavesSumsAsTheyAre) {
  for (const char* algorithm : {"offload", "auto"}) {
    const Info info{
        {"cohom_codec", "raw"}, {"cohom_algorithm", algorithm}, {"cohom_aggregator", nobody}};
    ASSERT_EQ(reduce(info, data_), MPI_SUCCESS);
    const int sum_of_ranks = ranks_ * (ranks_ - 1) / 2;
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(data_[std::size_t(i)], float(ranks_ * (i % 100) + sum_of_ranks));
  }
  const auto counters = mpi::cached_communicator(comm_).offload_counters();
  EXPECT_EQ(counters.offloaded, 0u);
  // Floats are offloaded only where that is asked for, and one rank needs nobody.
  EXPECT_EQ(counters.declined, ranks_ == 1 ? 0u : 1u);
}

TEST_F(MpixAggregator, WrongAddressesAreErrorsOnAllRanks) {
  for (const char* address : {"nowhere", "host:", "host:99999999", ":1"}) {
    const Info info{{"cohom_algorithm", "offload"}, {"cohom_aggregator", address}};
    expect_error_on_all_ranks(reduce(info, data_), comm_, {address});
    expect_good_call(comm_);
  }
}

TEST_F(MpixAggregator, OneRankWithoutItIsAnErrorOnAllRanks) {
  if (ranks_ == 1) return;
  Info info{{"cohom_algorithm", "offload"}};
  if (!last_rank()) info.set("cohom_aggregator", nobody);
  expect_error_on_all_ranks(reduce(info, data_), comm_, {"offload needs an aggregator"});
  expect_good_call(comm_);
}

TEST_F(MpixAggregator, ASecretIsNeeded) {
  if (last_rank()) ::unsetenv(token_variable);
  const Info info{{"cohom_algorithm", "offload"}, {"cohom_aggregator", nobody}};
  expect_error_on_all_ranks(reduce(info, data_), comm_, {token_variable, "is not set"});
  expect_good_call(comm_);
}

/// Such as munge where no munged is.
TEST_F(MpixAggregator, AWayToProveOneselfThatIsNotThereIsAnErrorOnAllRanks) {
  const Info info{{"cohom_algorithm", "offload"}, {"cohom_aggregator", nobody}};
  ::setenv("COHOM_MUNGE_SOCKET", "/nowhere", 1);
  for (const char* auth : {"munge", "kerberos"}) {
    if (last_rank()) ::setenv("COHOM_AGGREGATOR_AUTH", auth, 1);
    expect_error_on_all_ranks(reduce(info, data_), comm_,
                              {std::string("COHOM_AGGREGATOR_AUTH is '") + auth + "'"});
    ::unsetenv("COHOM_AGGREGATOR_AUTH");
    expect_good_call(comm_);
  }
  ::unsetenv("COHOM_MUNGE_SOCKET");
}

/// Rank 0 alone has it.
TEST_F(MpixAggregator, AFileForKeysThatCannotBeIsAnErrorOnAllRanks) {
  const Info info{{"cohom_algorithm", "offload"}, {"cohom_aggregator", nobody}};
  ::setenv("COHOM_AGGREGATOR_JOB_KEY_FILE", "/nowhere/keys", 1);
  expect_error_on_all_ranks(reduce(info, data_), comm_,
                            {"COHOM_AGGREGATOR_JOB_KEY_FILE is '/nowhere/keys'"});
  ::unsetenv("COHOM_AGGREGATOR_JOB_KEY_FILE");
  expect_good_call(comm_);
}

TEST_F(MpixAggregator, NoneIsAnErrorOnlyWhereItIsAskedFor) {
  const Info offload{{"cohom_algorithm", "offload"}};
  expect_error_on_all_ranks(reduce(offload, data_), comm_, {"offload needs an aggregator"});
  const Info automatic{{"cohom_algorithm", "auto"}};
  EXPECT_EQ(reduce(automatic, data_), MPI_SUCCESS);
}

}  // namespace
}  // namespace cohom::testing
