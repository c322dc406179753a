// Calls that go by MPI's own allreduce: its bits, and a choice that all ranks make alike.

#include "mpix_fixture.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>
#include <cohom/plan.hpp>
#include <cohom/reductions.hpp>

#include <chrono>
#include <cmath>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

using Native = MpixTest;

std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(0.11f * static_cast<float>(i) + static_cast<float>(rank));
  return values;
}

TEST_F(Native, HasMpisBits) {
  for (const std::size_t count : {0, 1, 3000, 300001}) {
    const std::vector<float> input = values_of(rank_, count);
    std::vector<float> expected(count), output(count), in_place = input;
    MPI_Allreduce(input.data(), expected.data(), int(count), MPI_FLOAT, MPI_SUM, comm_);
    const Info info{{"cohom_codec", "thc"}, {"cohom_algorithm", "native"}};
    ASSERT_EQ(MPIX_Allreduce_compressed(input.data(), output.data(), int(count), MPI_FLOAT, MPI_SUM,
                                        comm_, info),
              MPI_SUCCESS);
    EXPECT_EQ(output, expected);
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, in_place.data(), int(count), MPI_FLOAT,
                                         MPI_SUM, comm_, info, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
    expect_same_on_all_ranks(in_place.data(), count * sizeof(float), comm_);
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(in_place[i], expected[i], 1e-5 * ranks_);
  }
  EXPECT_EQ(mpi::cached_communicator(comm_).native_calls(), 8u);
}

TEST_F(Native, HasMpisBitsOfParts) {
  Communicator& communicator = mpi::cached_communicator(comm_);
  const Options options{.codec = "thc", .algorithm = "native"};
  const int root = ranks_ - 1;
  for (const std::size_t count : {1, 3000, 100001}) {
    const std::vector<float> input = values_of(rank_, count * std::size_t(ranks_));
    std::vector<float> expected(count), part(count), in_place = input;
    MPI_Reduce_scatter_block(input.data(), expected.data(), int(count), MPI_FLOAT, MPI_SUM, comm_);
    reduce_scatter(input.data(), part.data(), count, ElementType::f32, communicator, options);
    EXPECT_EQ(part, expected);
    reduce_scatter(in_place.data(), in_place.data(), count, ElementType::f32, communicator,
                   options);
    for (std::size_t i = count; i < input.size(); ++i) ASSERT_EQ(in_place[i], input[i]);
    reduce_scatter_start(input.data(), part.data(), count, ElementType::f32, communicator, options)
        .wait();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(part[i], expected[i], 1e-5 * ranks_);
      ASSERT_NEAR(in_place[i], expected[i], 1e-5 * ranks_);
    }

    std::vector<float> all(input.size()), sum(input.size());
    in_place = input;
    MPI_Reduce(input.data(), all.data(), int(all.size()), MPI_FLOAT, MPI_SUM, root, comm_);
    const auto reduce_to = [&](float* output) {
      reduce(output == in_place.data() ? output : input.data(), rank_ == root ? output : nullptr,
             sum.size(), ElementType::f32, root, communicator, options);
    };
    reduce_to(sum.data());
    if (rank_ == root) EXPECT_EQ(sum, all);
    reduce_to(in_place.data());
    reduce_start(input.data(), rank_ == root ? sum.data() : nullptr, sum.size(), ElementType::f32,
                 root, communicator, options)
        .wait();
    if (rank_ != root) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(sum[i], all[i], 1e-5 * ranks_);
      ASSERT_NEAR(in_place[i], all[i], 1e-5 * ranks_);
    }
  }
}

/// MPI wants all ranks in place, or none; where one has a timeout, MPI sums in a copy of its
/// vector.
TEST_F(Native, SomeRanksAreInPlace) {
  Communicator& communicator = mpi::cached_communicator(comm_);
  for (const std::size_t count : {1000, 300001})
    for (const bool timeouts : {false, true}) {
      Options options{.codec = "thc", .algorithm = "native"};
      std::vector<float> input = values_of(rank_, count), expected(count), apart(count, -1);
      MPI_Allreduce(input.data(), expected.data(), int(count), MPI_FLOAT, MPI_SUM, comm_);
      if (timeouts && rank_ == 0) options.timeout = 60;
      float* const output = !timeouts && rank_ == 0 ? input.data() : apart.data();
      Request call =
          allreduce_start(input.data(), output, count, ElementType::f32, communicator, options);
      call.wait();
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(output[i], expected[i], 1e-5 * ranks_);
      allreduce(input.data(), rank_ == 0 ? input.data() : apart.data(), count, ElementType::f32,
                communicator, options);
    }
}

/// Ranks are late by turns, and make calls of several kinds, some of which do not block everywhere.
TEST_F(Native, RanksChooseAlike) {
  Communicator& communicator = mpi::cached_communicator(comm_);
  std::mt19937 random(static_cast<unsigned>(rank_));
  for (int call = 0; call < 400; ++call) {
    if (random() % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
    std::vector<float> data = values_of(rank_, call % 3 == 0 ? 5000 : 20000);
    const Options options{.codec = call % 2 == 0 ? "thc" : "raw", .native = "auto"};
    if (call % 7 == 3) {
      std::vector<float> part(data.size() / std::size_t(ranks_));
      reduce_scatter(data.data(), part.data(), part.size(), ElementType::f32, communicator,
                     options);
      reduce(data.data(), rank_ == 0 ? data.data() : nullptr, data.size(), ElementType::f32, 0,
             communicator, options);
      continue;
    }
    if (call % 10 == 9 && random() % 2 == 0)
      allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                      options)
          .wait();
    else
      allreduce(std::span(data), communicator, options);
    expect_same_on_all_ranks(data.data(), data.size() * sizeof(float), comm_);
  }
  std::uint64_t native = communicator.native_calls();
  expect_same_on_all_ranks(&native, sizeof native, comm_);
  if (ranks_ > 1) EXPECT_GE(native, 16u) << "four kinds take turns";
}

TEST_F(Native, OtherCountsAreAnErrorOnAllRanks) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank differs from nobody";
  const Info info{{"cohom_codec", "thc"}, {"cohom_native", "always"}};
  std::vector<float> data(20000, 1.0f);
  for (int turn = 0; turn < 3; ++turn) {
    expect_error_on_all_ranks(
        MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), last_rank() ? 19999 : 20000, MPI_FLOAT,
                                  MPI_SUM, comm_, info),
        comm_, {"19999", "20000"});
    data.assign(data.size(), 1.0f);
    ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 20000, MPI_FLOAT, MPI_SUM, comm_,
                                        info),
              MPI_SUCCESS);
    EXPECT_EQ(data, std::vector<float>(20000, float(ranks_)));
  }
}

}  // namespace
}  // namespace cohom::testing
