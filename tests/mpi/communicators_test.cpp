// Many communicators and many calls: duplicated, split, freed in odd orders, in flight together.

#include "mpix_fixture.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace cohom::testing {
namespace {

using Communicators = MpixTest;

MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

TEST_F(Communicators, AreCachedAndNotCopied) {
  Communicator& first = mpi::cached_communicator(comm_);
  EXPECT_EQ(&first, &mpi::cached_communicator(comm_));
  EXPECT_EQ(first.rank(), rank_);
  EXPECT_EQ(first.ranks(), ranks_);
  const char* const transport = std::getenv("COHOM_TRANSPORT");
  EXPECT_EQ(first.transport().name(), transport != nullptr ? transport : "mpi");
  MPI_Comm copy = duplicate(comm_);
  EXPECT_NE(&first, &mpi::cached_communicator(copy));
  expect_good_call(copy);
  MPI_Comm_free(&copy);
  expect_good_call(comm_);
}

TEST_F(Communicators, BelongToTheCallerWhenAskedFor) {
  Communicator own = mpi::communicator(comm_);
  std::vector<float> data(1000, 1.0f);
  allreduce(std::span(data), own, {.codec = "raw"});
  EXPECT_EQ(data, std::vector<float>(1000, static_cast<float>(ranks_)));
  Communicator moved = std::move(own);
  allreduce(std::span(data), moved, {.codec = "raw"});
  EXPECT_EQ(data, std::vector<float>(1000, static_cast<float>(ranks_ * ranks_)));
  if (ranks_ > 1) {
    EXPECT_GT(moved.wire_counters().messages_sent, 0u);
  }
}

TEST_F(Communicators, RefuseWhatIsNone) {
  EXPECT_THROW((void)mpi::communicator(MPI_COMM_NULL), Error);
  EXPECT_THROW((void)mpi::cached_communicator(MPI_COMM_NULL), Error);
}

TEST_F(Communicators, CoverPartsOfTheWorld) {
  for (const int parts : {2, 3}) {
    MPI_Comm part = MPI_COMM_NULL;
    // Backwards, so that ranks get other numbers.
    MPI_Comm_split(comm_, rank_ % parts, -rank_, &part);
    expect_good_call(part);
    expect_good_call(comm_);
    MPI_Comm_free(&part);
  }
  expect_good_call(MPI_COMM_SELF);
  expect_good_call(MPI_COMM_WORLD);  // stays until MPI_Finalize
}

/// MPI may need its sender for a long message, which is in a call of cohom's that goes by memory.
TEST_F(Communicators, LetAUsersMessagesThrough) {
  std::vector<float> sent(1 << 20, 1.0f), received(1 << 20);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank_ == 0 && ranks_ > 1) MPI_Isend(sent.data(), 1 << 20, MPI_FLOAT, 1, 0, comm_, &request);
  if (rank_ == 1) MPI_Recv(received.data(), 1 << 20, MPI_FLOAT, 0, 0, comm_, MPI_STATUS_IGNORE);
  expect_good_call(comm_);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank_ == 1) {
    EXPECT_EQ(received, sent);
  }
}

TEST_F(Communicators, OnlySomeRanksHaveOne) {
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(comm_, rank_ == 0 && ranks_ > 1 ? MPI_UNDEFINED : 1, rank_, &some);
  if (some != MPI_COMM_NULL) {
    expect_good_call(some);
    MPI_Comm_free(&some);
  }
  expect_good_call(comm_);
}

TEST_F(Communicators, WorkSideBySide) {
  constexpr std::size_t many = 6;
  std::vector<MPI_Comm> comms;
  std::vector<std::vector<float>> data;
  std::vector<MPIX_Compressed_request> requests(many);
  const Info info{{"cohom_codec", "raw"}};
  for (std::size_t c = 0; c < many; ++c) {
    comms.push_back(duplicate(comm_));
    data.emplace_back(100000, static_cast<float>(c + 1));
  }
  for (std::size_t c = 0; c < many; ++c)
    ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data[c].data(), 100000, MPI_FLOAT, MPI_SUM,
                                         comms[c], info, &requests[c]),
              MPI_SUCCESS);
  // Round robin: waiting for one does not move the others.
  for (std::size_t open = many; open != 0;) {
    for (auto& request : requests) {
      if (request == MPIX_COMPRESSED_REQUEST_NULL) continue;
      int done = 0;
      ASSERT_EQ(MPIX_Compressed_test(&request, &done), MPI_SUCCESS);
      if (done != 0) --open;
    }
  }
  for (std::size_t c = 0; c < many; ++c)
    EXPECT_EQ(data[c], std::vector<float>(100000, static_cast<float>((int(c) + 1) * ranks_)));
  for (const std::size_t c : {3u, 0u, 5u, 1u, 4u, 2u}) MPI_Comm_free(&comms[c]);
  expect_good_call(comm_);
}

TEST_F(Communicators, AreMadeAndFreedManyTimes) {
  for (int i = 0; i < 40; ++i) {
    MPI_Comm copy = duplicate(comm_);
    expect_good_call(copy);
    MPI_Comm grandchild = duplicate(copy);
    if (i % 2 == 0) expect_good_call(grandchild);
    MPI_Comm_free(&copy);  // before its child
    expect_good_call(grandchild);
    MPI_Comm_free(&grandchild);
  }
}

TEST_F(Communicators, KeepManyCallsInFlight) {
  constexpr std::size_t calls = 40;
  const Info info{{"cohom_codec", "raw"}};
  std::vector<MPIX_Compressed_request> requests(calls);
  std::vector<std::vector<double>> data;
  for (std::size_t c = 0; c < calls; ++c) data.emplace_back(50 * c, double(c));
  for (std::size_t c = 0; c < calls; ++c)
    ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data[c].data(), MPI_Count(data[c].size()),
                                         MPI_DOUBLE, MPI_SUM, comm_, info, &requests[c]),
              MPI_SUCCESS);
  std::vector<std::size_t> order(calls);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(rank_)));
  for (const std::size_t c : order) {
    ASSERT_EQ(MPIX_Compressed_wait(&requests[c]), MPI_SUCCESS);
    EXPECT_EQ(data[c], std::vector<double>(50 * c, double(c) * ranks_));
  }
}

// More than there are channels: a number comes round again only when its call is over.
TEST_F(Communicators, KeepMoreCallsInFlightThanChannels) {
  Communicator communicator = mpi::communicator(comm_);
  const std::size_t calls = communicator.transport().channels() + 30;
  std::vector<std::vector<float>> data(calls, std::vector<float>(20, 1.0f));
  std::vector<Request> requests;
  for (auto& vector : data)
    requests.push_back(allreduce_start(vector.data(), vector.data(), 20, ElementType::f32,
                                       communicator, {.codec = "raw"}));
  for (std::size_t c = calls; c-- > 0;) {
    requests[c].wait();
    EXPECT_EQ(data[c], std::vector<float>(20, static_cast<float>(ranks_)));
  }
}

TEST_F(Communicators, MixAlgorithmsInFlight) {
  const char* const algorithms[] = {
      "fabric", "ring", "fabric", "direct", "tree", "fabric", "recursive_doubling"};
  const char* const codecs[] = {"raw", "thc"};
  std::vector<MPIX_Compressed_request> requests;
  std::vector<std::vector<float>> data;
  data.assign(std::size(codecs) * std::size(algorithms), std::vector<float>(30000, 1.0f));
  std::size_t next = 0;
  for (const char* codec : codecs) {
    for (const char* algorithm : algorithms) {
      const Info info{{"cohom_codec", codec}, {"cohom_algorithm", algorithm}};
      requests.push_back(MPIX_COMPRESSED_REQUEST_NULL);
      ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data[next++].data(), 30000, MPI_FLOAT,
                                           MPI_SUM, comm_, info, &requests.back()),
                MPI_SUCCESS);
    }
  }
  if (rank_ % 2 == 1) std::reverse(requests.begin(), requests.end());
  for (auto& request : requests) ASSERT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
  for (const auto& sum : data) {
    const double mean = std::accumulate(sum.begin(), sum.end(), 0.0) / double(sum.size());
    EXPECT_NEAR(mean, ranks_, 0.1 * ranks_);
    expect_same_on_all_ranks(sum.data(), sum.size() * sizeof(float), comm_);
  }
}

// A fabric wants its collectives in one order on all ranks, however differently they get on.
TEST_F(Communicators, KeepTheOrderOfFabricCalls) {
  const Info with_state{{"cohom_codec", "thc:error_feedback=on"},
                        {"cohom_algorithm", "fabric"},
                        {"cohom_buffer", "a"}};
  const Info stateless{{"cohom_codec", "thc"}, {"cohom_algorithm", "fabric"}};
  for (int round = 0; round < 5; ++round) {
    std::vector<float> a(30000, 1.0f), b(20000, 2.0f);
    MPIX_Compressed_request first = MPIX_COMPRESSED_REQUEST_NULL, second = first;
    ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, a.data(), 30000, MPI_FLOAT, MPI_SUM, comm_,
                                         with_state, &first),
              MPI_SUCCESS);
    // Odd ranks are far into the first call when they start the second, the others nowhere.
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    int done = 0;
    while (rank_ % 2 == 1 && done == 0 && std::chrono::steady_clock::now() < until)
      ASSERT_EQ(MPIX_Compressed_test(&first, &done), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, b.data(), 20000, MPI_FLOAT, MPI_SUM, comm_,
                                         stateless, &second),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Compressed_wait(&second), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Compressed_wait(&first), MPI_SUCCESS);
    for (const auto& sum : {a, b})
      expect_same_on_all_ranks(sum.data(), sum.size() * sizeof(float), comm_);
    EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0) / 30000, ranks_, 0.1 * ranks_);
    EXPECT_NEAR(std::accumulate(b.begin(), b.end(), 0.0) / 20000, 2 * ranks_, 0.2 * ranks_);
  }
}

TEST_F(Communicators, UseTheFabricAfterACallThatFailed) {
  const Info info{{"cohom_codec", "raw"}, {"cohom_algorithm", "fabric"}};
  std::vector<float> data(20000, 1.0f);
  const MPI_Count count = last_rank() ? 15000 : 20000;
  const int code =
      MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, comm_, info);
  if (ranks_ > 1) {
    expect_error_on_all_ranks(code, comm_, {"ranks disagree on count"});
  }
  data.assign(18000, 1.0f);
  ASSERT_EQ(
      MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 18000, MPI_FLOAT, MPI_SUM, comm_, info),
      MPI_SUCCESS);
  EXPECT_EQ(data, std::vector<float>(18000, static_cast<float>(ranks_)));
}

// Ranks may wait for calls of different communicators in different orders.
TEST_F(Communicators, AreWaitedForInDifferentOrders) {
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(comm_, &other);
  std::vector<float> first(100000, 1.0f), second(100000, 2.0f);
  const Info info{{"cohom_codec", "raw"}, {"cohom_algorithm", "ring"}};
  MPIX_Compressed_request requests[2];
  MPIX_Iallreduce_compressed(MPI_IN_PLACE, first.data(), 100000, MPI_FLOAT, MPI_SUM, comm_, info,
                             &requests[0]);
  MPIX_Iallreduce_compressed(MPI_IN_PLACE, second.data(), 100000, MPI_FLOAT, MPI_SUM, other, info,
                             &requests[1]);
  const int begin = rank_ % 2;
  EXPECT_EQ(MPIX_Compressed_wait(&requests[begin]), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_wait(&requests[1 - begin]), MPI_SUCCESS);
  EXPECT_EQ(first, std::vector<float>(100000, static_cast<float>(ranks_)));
  EXPECT_EQ(second, std::vector<float>(100000, 2 * static_cast<float>(ranks_)));
  MPI_Comm_free(&other);
}

// What fabric needs is made in its first call, which must not wait for other ranks to start theirs.
TEST_F(Communicators, UseTheFabricFirstInDifferentOrders) {
  constexpr std::size_t many = 4;
  std::vector<Communicator> own;
  std::vector<std::vector<float>> data;
  for (std::size_t c = 0; c < many; ++c) {
    own.push_back(mpi::communicator(comm_));
    data.emplace_back(20000, static_cast<float>(c + 1));
  }
  std::vector<Request> requests(many);
  for (std::size_t i = 0; i < many; ++i) {
    const std::size_t c = rank_ % 2 == 0 ? i : many - 1 - i;
    requests[c] = allreduce_start(data[c].data(), data[c].data(), data[c].size(), ElementType::f32,
                                  own[c], {.codec = "raw", .algorithm = "fabric"});
  }
  for (std::size_t i = 0; i < many; ++i) requests[rank_ % 3 == 0 ? i : many - 1 - i].wait();
  for (std::size_t c = 0; c < many; ++c)
    EXPECT_EQ(data[c], std::vector<float>(20000, static_cast<float>(ranks_) * float(c + 1)));
}

}  // namespace
}  // namespace cohom::testing
